//! Tells momentary faults from lasting ones.

use std::collections::HashMap;

/// Faults of this duration, s, count as lasting: a fast motion may fold an element for a frame or two. Ours.
const LASTING: f64 = 0.1;

/// Counts inverted elements: momentary and lasting ones.
#[derive(Clone, Debug)]
pub struct Lasting {
    /// Number of frames after which a fault is lasting.
    frames: u32,
    /// Number of consecutive frames in which each element has been inverted.
    runs: HashMap<u32, u32>,
    most: usize,
    lasted: Vec<u32>,
}

impl Lasting {
    /// Without frames yet, at a frame rate.
    pub fn new(fps: f64) -> Self {
        let frames = ((LASTING * fps).ceil() as u32).max(2);
        Self { frames, runs: HashMap::new(), most: 0, lasted: Vec::new() }
    }

    /// Adds a frame with its inverted elements. Returns those that have been so for too long.
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

    /// The largest number of inverted elements in one frame.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Number of elements that were ever lastingly inverted.
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
            // Element 7 flickers, 9 is inverted for eight consecutive frames.
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
