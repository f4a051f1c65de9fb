//! Errors of requests for a head.

use crate::dials::DIALS;

/// Why a head could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeadError {
    /// No dial has this name.
    #[error("the head has no dial {0:?}; the dials are {all}", all = DIALS.map(|dial| dial.name).join(", "))]
    UnknownDial(String),
    /// A dial's value is out of range.
    #[error("the dial {name:?} runs from -1 to 1, not to {value}")]
    DialRange {
        /// The dial.
        name: String,
        /// The value asked for.
        value: f64,
    },
}
