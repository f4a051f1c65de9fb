//! Hair: a shell over the scalp and layers of tapered clumps that hide its edge. It moves with the head only.

mod grow;
mod shell;
mod styles;

use std::sync::OnceLock;

use super::Part;
use crate::dice::Dice;

/// A hair style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hair {
    /// Short, combed to one side.
    Short,
    /// Down to the shoulders, with a parting.
    Long,
    /// Pulled back into a tail.
    Tied,
    /// None.
    Bald,
}

impl Hair {
    /// All styles.
    pub const ALL: [Hair; 4] = [Hair::Short, Hair::Long, Hair::Tied, Hair::Bald];

    /// The style of a seed; the head as it was sculpted has short hair.
    pub fn sampled(seed: u64) -> Self {
        if seed == 0 {
            return Hair::Short;
        }
        match Dice::new(seed ^ 0x4A17).unit() {
            x if x < 0.45 => Hair::Short,
            x if x < 0.72 => Hair::Long,
            x if x < 0.92 => Hair::Tied,
            _ => Hair::Bald,
        }
    }
}

/// The hair of a style on the template.
pub(crate) fn of_style(style: Hair) -> Option<&'static Part> {
    static STYLES: [OnceLock<Option<Part>>; 4] = [const { OnceLock::new() }; 4];
    STYLES[style as usize].get_or_init(|| make(style)).as_ref()
}

fn make(style: Hair) -> Option<Part> {
    let strands = match style {
        Hair::Short => styles::short(),
        Hair::Long => styles::long(),
        Hair::Tied => styles::tied(),
        Hair::Bald => return None,
    };
    let uvs = strands.uvs();
    Some(Part {
        name: "hair",
        positions: strands.positions,
        triangles: strands.triangles,
        uvs,
        shapes: Vec::new(),
    })
}
