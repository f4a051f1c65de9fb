//! The joints of a hand by name.

/// A left or a right hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The left hand.
    Left,
    /// The right hand.
    Right,
}

impl Side {
    /// Its name in files: `left` or `right`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }

    /// The side with a name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Left, Self::Right].into_iter().find(|side| side.name().eq_ignore_ascii_case(name))
    }
}

/// A joint of WebXR Hand Input, in its order. A phalanx is named after the joint at its end towards the wrist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Joint {
    Wrist,
    ThumbMetacarpal,
    ThumbProximal,
    ThumbDistal,
    ThumbTip,
    IndexMetacarpal,
    IndexProximal,
    IndexIntermediate,
    IndexDistal,
    IndexTip,
    MiddleMetacarpal,
    MiddleProximal,
    MiddleIntermediate,
    MiddleDistal,
    MiddleTip,
    RingMetacarpal,
    RingProximal,
    RingIntermediate,
    RingDistal,
    RingTip,
    PinkyMetacarpal,
    PinkyProximal,
    PinkyIntermediate,
    PinkyDistal,
    PinkyTip,
}

use Joint::{
    IndexDistal, IndexIntermediate, IndexMetacarpal, IndexProximal, IndexTip, MiddleDistal,
    MiddleIntermediate, MiddleMetacarpal, MiddleProximal, MiddleTip, PinkyDistal, PinkyIntermediate,
    PinkyMetacarpal, PinkyProximal, PinkyTip, RingDistal, RingIntermediate, RingMetacarpal, RingProximal,
    RingTip, ThumbDistal, ThumbMetacarpal, ThumbProximal, ThumbTip, Wrist,
};

/// Names of all joints in WebXR, in order.
const NAMES: [&str; Joint::COUNT] = [
    "wrist",
    "thumb-metacarpal",
    "thumb-phalanx-proximal",
    "thumb-phalanx-distal",
    "thumb-tip",
    "index-finger-metacarpal",
    "index-finger-phalanx-proximal",
    "index-finger-phalanx-intermediate",
    "index-finger-phalanx-distal",
    "index-finger-tip",
    "middle-finger-metacarpal",
    "middle-finger-phalanx-proximal",
    "middle-finger-phalanx-intermediate",
    "middle-finger-phalanx-distal",
    "middle-finger-tip",
    "ring-finger-metacarpal",
    "ring-finger-phalanx-proximal",
    "ring-finger-phalanx-intermediate",
    "ring-finger-phalanx-distal",
    "ring-finger-tip",
    "pinky-finger-metacarpal",
    "pinky-finger-phalanx-proximal",
    "pinky-finger-phalanx-intermediate",
    "pinky-finger-phalanx-distal",
    "pinky-finger-tip",
];

impl Joint {
    /// Number of joints.
    pub const COUNT: usize = 25;

    /// All joints, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Wrist,
        ThumbMetacarpal,
        ThumbProximal,
        ThumbDistal,
        ThumbTip,
        IndexMetacarpal,
        IndexProximal,
        IndexIntermediate,
        IndexDistal,
        IndexTip,
        MiddleMetacarpal,
        MiddleProximal,
        MiddleIntermediate,
        MiddleDistal,
        MiddleTip,
        RingMetacarpal,
        RingProximal,
        RingIntermediate,
        RingDistal,
        RingTip,
        PinkyMetacarpal,
        PinkyProximal,
        PinkyIntermediate,
        PinkyDistal,
        PinkyTip,
    ];

    /// Its name in WebXR, such as `index-finger-phalanx-proximal`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The joint with a WebXR name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|joint| joint.name().eq_ignore_ascii_case(name))
    }

    /// The joint that carries it; `None` for the wrist.
    pub fn parent(self) -> Option<Self> {
        match self {
            Wrist => None,
            ThumbMetacarpal | IndexMetacarpal | MiddleMetacarpal | RingMetacarpal | PinkyMetacarpal => {
                Some(Wrist)
            }
            joint => Some(Self::ALL[joint as usize - 1]),
        }
    }

    /// Whether it is the tip of a finger or of the thumb.
    pub fn is_tip(self) -> bool {
        matches!(self, ThumbTip | IndexTip | MiddleTip | RingTip | PinkyTip)
    }
}

/// A finger that can pinch with the thumb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Finger {
    Index,
    Middle,
    Ring,
    Pinky,
}

impl Finger {
    /// All fingers, from the thumb outwards.
    pub const ALL: [Self; 4] = [Self::Index, Self::Middle, Self::Ring, Self::Pinky];

    /// Its joints, from the metacarpal to the tip.
    pub fn joints(self) -> [Joint; 5] {
        let first = IndexMetacarpal as usize + 5 * self as usize;
        std::array::from_fn(|k| Joint::ALL[first + k])
    }

    /// Its tip.
    pub fn tip(self) -> Joint {
        self.joints()[4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_orders_and_parents_agree() {
        for (index, joint) in Joint::ALL.into_iter().enumerate() {
            assert_eq!(joint as usize, index);
            assert_eq!(Joint::from_name(&joint.name().to_uppercase()), Some(joint));
            assert!(joint.parent().is_none_or(|parent| (parent as usize) < index));
        }
        assert_eq!(Finger::Pinky.tip(), PinkyTip);
        assert_eq!(Finger::Middle.joints()[0].parent(), Some(Wrist));
        assert_eq!(Joint::ALL.iter().filter(|joint| joint.is_tip()).count(), 5);
        assert_eq!(Side::from_name("Left"), Some(Side::Left));
    }
}
