//! Retargeting against truth: built-in heads, whose own shapes go through warps that no transfer knows, and rigs that have the same shapes by name.

mod built_in;
mod pairs;

use std::path::PathBuf;

use serde::Serialize;

pub(crate) use built_in::MethodFigures;
pub(crate) use pairs::PairFigures;

/// The extent of a benchmark.
pub(crate) struct RetargetBench {
    /// Built-in heads; the first is the source.
    pub(crate) heads: usize,
    /// Expressions that are carried to each head.
    pub(crate) expressions: usize,
    /// The take that expressions and examples are drawn from.
    pub(crate) take: String,
    /// Numbers of examples of each target.
    pub(crate) examples: Vec<usize>,
    /// Whether parts of the method are left out, one at a time, with the fewest examples.
    pub(crate) ablations: bool,
    /// Rigs that are carried to each other.
    pub(crate) rigs: Vec<PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RetargetReport {
    /// Pairs of built-in heads, with exact truth.
    pub(crate) built_in: Vec<MethodFigures>,
    /// Pairs of rigs.
    pub(crate) pairs: Vec<PairFigures>,
}

pub(crate) fn run(bench: &RetargetBench) -> anyhow::Result<RetargetReport> {
    let built_in = if bench.heads < 2 { Vec::new() } else { built_in::run(bench)? };
    let mut found = Vec::new();
    for source in &bench.rigs {
        for target in bench.rigs.iter().filter(|target| *target != source) {
            found.push(pairs::pair(source, target)?);
        }
    }
    Ok(RetargetReport { built_in, pairs: found })
}
