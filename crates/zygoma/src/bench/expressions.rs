//! Shapes of the built-in head beside those of other rigs: how far they move the skin, and which way.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use zygoma_head::compare::{Canvas, Carried, CarriedShape, Form, OwnShape};
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::formats::{Limits, read_rig};

const MILLIMETRES: f64 = 1e3;

/// A shape's largest displacement should lie within these fractions of the smallest and largest reference.
const WITHIN: [f64; 2] = [0.75, 1.25];

/// The built-in head beside references.
#[derive(Debug, Serialize)]
pub(crate) struct Expressions {
    pub(crate) references: Vec<Reference>,
    pub(crate) form_mm: Lengths,
    pub(crate) shapes: Vec<ShapeFigures>,
    /// Rigs that could not be compared, with the reason.
    pub(crate) skipped: Vec<String>,
}

/// Rigs with the same vertices count as one reference: means over them are compared.
#[derive(Debug, Serialize)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) rigs: usize,
    pub(crate) form_mm: Lengths,
    #[serde(skip)]
    vertices: usize,
    #[serde(skip)]
    carried: Vec<Carried>,
}

/// Lengths of a neutral face in millimetres, for a reference the means over its rigs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Lengths {
    pub(crate) eye_height: f64,
    pub(crate) eye_width: f64,
    pub(crate) eye_distance: f64,
    pub(crate) head_height: f64,
    pub(crate) mouth_width: f64,
    pub(crate) chin: f64,
}

/// One of the 52 shapes.
#[derive(Debug, Serialize)]
pub(crate) struct ShapeFigures {
    pub(crate) shape: &'static str,
    /// Largest displacement of the built-in head's skin.
    pub(crate) largest_mm: f64,
    /// Where it should lie, by the references.
    pub(crate) range_mm: Option<[f64; 2]>,
    pub(crate) beside: Vec<Beside>,
}

/// A shape beside one reference.
#[derive(Debug, Serialize)]
pub(crate) struct Beside {
    pub(crate) reference: String,
    /// Largest displacement of the reference's visible skin, at the built-in head's size.
    pub(crate) largest_mm: f64,
    /// The built-in head's over it.
    pub(crate) ratio: f64,
    /// Cosine between the displacement fields, with lip on lip and lid on lid.
    pub(crate) cosine: f64,
    /// The same by closest points after the similarity alone.
    pub(crate) cosine_closest: f64,
}

impl Expressions {
    /// Writes the form of neutrals, then a line for each shape.
    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        for reason in &self.skipped {
            writeln!(out, "skipped {reason}")?;
        }
        writeln!(out, "\nmm                      eye height  width  apart   head  mouth   chin")?;
        let own = std::iter::once(("built-in".to_owned(), self.form_mm));
        let others = self.references.iter().map(|r| (format!("{} ({})", r.name, r.rigs), r.form_mm));
        for (name, form) in own.chain(others) {
            writeln!(
                out,
                "{name:<28} {:>5.1} {:>6.1} {:>6.1} {:>6.1} {:>6.1} {:>6.1}",
                form.eye_height,
                form.eye_width,
                form.eye_distance,
                form.head_height,
                form.mouth_width,
                form.chin
            )?;
        }
        writeln!(
            out,
            "\nlargest displacement, mm; then for each reference: its own, ratio, cosine (by closest points)"
        )?;
        for figures in &self.shapes {
            let is_out =
                figures.range_mm.is_some_and(|[least, most]| !(least..=most).contains(&figures.largest_mm));
            write!(
                out,
                "{:<20} {:>6.2}{}",
                figures.shape,
                figures.largest_mm,
                if is_out { " !" } else { "  " }
            )?;
            for beside in &figures.beside {
                write!(
                    out,
                    " | {:>6.2} {:>5.2} {:>5.2} ({:.2})",
                    beside.largest_mm, beside.ratio, beside.cosine, beside.cosine_closest
                )?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Compares the built-in head with rigs.
pub(crate) fn run(rigs: &[PathBuf]) -> Expressions {
    let canvas = Canvas::default();
    let head = Head::new(&HeadOptions::default());
    let (mut references, mut skipped) = (Vec::new(), Vec::new());
    for path in rigs {
        if let Err(reason) = add(&canvas, path, &mut references) {
            skipped.push(format!("{}: {reason}", path.display()));
        }
    }
    for reference in &mut references {
        reference.form_mm = mean(reference.carried.iter().map(|carried| carried.form));
    }
    let shapes = canvas.built_in(&head).iter().map(|own| figures(&canvas, own, &references)).collect();
    let form_mm = mean(std::iter::once(Form::of(&head.skin.positions)));
    Expressions { references, form_mm, shapes, skipped }
}

fn add(canvas: &Canvas, path: &Path, references: &mut Vec<Reference>) -> anyhow::Result<()> {
    let rig = read_rig(path, &Limits::default())?;
    let (carried, vertices) = (canvas.carry(&rig)?, rig.skin().positions.len());
    match references.iter_mut().find(|reference| reference.vertices == vertices) {
        Some(reference) => {
            reference.rigs += 1;
            reference.carried.push(carried);
        }
        None => references.push(Reference {
            name: rig.name,
            rigs: 1,
            form_mm: Lengths::default(),
            vertices,
            carried: vec![carried],
        }),
    }
    Ok(())
}

fn mean(forms: impl ExactSizeIterator<Item = Form>) -> Lengths {
    let weight = MILLIMETRES / forms.len().max(1) as f64;
    forms.fold(Lengths::default(), |sum, form| Lengths {
        eye_height: sum.eye_height + weight * form.eye_height,
        eye_width: sum.eye_width + weight * form.eye_width,
        eye_distance: sum.eye_distance + weight * form.eye_distance,
        head_height: sum.head_height + weight * form.head_height,
        mouth_width: sum.mouth_width + weight * form.mouth_width,
        chin: sum.chin + weight * form.chin,
    })
}

fn figures(canvas: &Canvas, own: &OwnShape, references: &[Reference]) -> ShapeFigures {
    let beside: Vec<Beside> = references.iter().filter_map(|r| beside(canvas, own, r)).collect();
    let ends = beside.iter().fold([f64::MAX, 0.0], |[least, most]: [f64; 2], one| {
        [least.min(one.largest_mm), most.max(one.largest_mm)]
    });
    let range_mm = (!beside.is_empty()).then(|| [WITHIN[0] * ends[0], WITHIN[1] * ends[1]]);
    ShapeFigures { shape: own.name, largest_mm: MILLIMETRES * own.largest, range_mm, beside }
}

/// A shape beside a reference; `None` if the reference does not have it, or does not move the skin in it.
fn beside(canvas: &Canvas, own: &OwnShape, reference: &Reference) -> Option<Beside> {
    let shapes: Vec<&CarriedShape> = (reference.carried.iter())
        .filter_map(|carried| carried.shapes.iter().find(|shape| shape.name == own.name))
        .filter(|shape| shape.largest > 0.0)
        .collect();
    if shapes.is_empty() {
        return None;
    }
    let mean = |of: &dyn Fn(&CarriedShape) -> f64| {
        shapes.iter().map(|shape| of(shape)).sum::<f64>() / shapes.len() as f64
    };
    let largest = mean(&|shape| shape.largest);
    Some(Beside {
        reference: reference.name.clone(),
        largest_mm: MILLIMETRES * largest,
        ratio: own.largest / largest,
        cosine: mean(&|shape| canvas.cosine(&own.field, &shape.registered)),
        cosine_closest: mean(&|shape| canvas.cosine(&own.field, &shape.closest)),
    })
}
