//! What is wrong for a moment, and what stays wrong.

use std::collections::HashMap;

/// Elements that are wrong for this long, s, stay so: a fast motion may fold an element for a frame or two. Ours.
const LASTING: f64 = 0.1;

/// Counts elements that are inside out: for a moment, and for longer.
#[derive(Clone, Debug)]
pub struct Lasting {
    /// Frames after which it lasts.
    frames: u32,
    /// For how many frames each element has been wrong until now.
    runs: HashMap<u32, u32>,
    most: usize,
    lasted: Vec<u32>,
}

impl Lasting {
    /// No frames yet, at a rate.
    pub fn new(fps: f64) -> Self {
        let frames = ((LASTING * fps).ceil() as u32).max(2);
        Self { frames, runs: HashMap::new(), most: 0, lasted: Vec::new() }
    }

    /// Adds a frame in which these elements are wrong. Gives those that have been so for too long by now.
    pub fn add(&mut self, wrong: &[u32]) -> Vec<u32> {
        let runs: HashMap<u32, u32> =
            wrong.iter().map(|element| (*element, 1 + self.runs.get(element).unwrap_or(&0))).collect();
        self.runs = runs;
        self.most = self.most.max(wrong.len());
        let stays: Vec<u32> =
            wrong.iter().copied().filter(|element| self.runs[element] >= self.frames).collect();
        self.lasted.extend(stays.iter().filter(|element| self.runs[element] == self.frames));
        stays
    }

    /// The most elements that were wrong in one frame.
    pub fn most(&self) -> usize {
        self.most
    }

    /// How many elements were wrong for long at some time.
    pub fn lasting(&self) -> usize {
        let mut lasted = self.lasted.clone();
        lasted.sort_unstable();
        lasted.dedup();
        lasted.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_wrong_lasts() {
        let mut found = Lasting::new(60.0);
        for frame in 0..20 {
            // Element 7 flickers, 9 is wrong for eight frames on end.
            let mut wrong = vec![];
            if frame % 2 == 0 {
                wrong.push(7);
            }
            if (5..13).contains(&frame) {
                wrong.push(9);
            }
            let stays = found.add(&wrong);
            assert_eq!(stays.contains(&9), (10..13).contains(&frame), "frame {frame}");
        }
        assert_eq!((found.most(), found.lasting()), (2, 1));
    }
}
