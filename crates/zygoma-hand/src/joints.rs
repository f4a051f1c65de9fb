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

/// Defines the joints and their WebXR names from one list.
macro_rules! joints {
    ($($joint:ident $name:literal,)*) => {
        /// A joint of WebXR Hand Input, in its order. A phalanx is named after the joint at its end towards the wrist.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum Joint {
            $($joint,)*
        }

        /// Names of all joints in WebXR, in order.
        const NAMES: [&str; Joint::COUNT] = [$($name,)*];

        impl Joint {
            /// All joints, in order.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$joint,)*];

            /// Number of joints.
            pub const COUNT: usize = [$($name,)*].len();
        }
    };
}

joints! {
    Wrist "wrist",
    ThumbMetacarpal "thumb-metacarpal",
    ThumbProximal "thumb-phalanx-proximal",
    ThumbDistal "thumb-phalanx-distal",
    ThumbTip "thumb-tip",
    IndexMetacarpal "index-finger-metacarpal",
    IndexProximal "index-finger-phalanx-proximal",
    IndexIntermediate "index-finger-phalanx-intermediate",
    IndexDistal "index-finger-phalanx-distal",
    IndexTip "index-finger-tip",
    MiddleMetacarpal "middle-finger-metacarpal",
    MiddleProximal "middle-finger-phalanx-proximal",
    MiddleIntermediate "middle-finger-phalanx-intermediate",
    MiddleDistal "middle-finger-phalanx-distal",
    MiddleTip "middle-finger-tip",
    RingMetacarpal "ring-finger-metacarpal",
    RingProximal "ring-finger-phalanx-proximal",
    RingIntermediate "ring-finger-phalanx-intermediate",
    RingDistal "ring-finger-phalanx-distal",
    RingTip "ring-finger-tip",
    PinkyMetacarpal "pinky-finger-metacarpal",
    PinkyProximal "pinky-finger-phalanx-proximal",
    PinkyIntermediate "pinky-finger-phalanx-intermediate",
    PinkyDistal "pinky-finger-phalanx-distal",
    PinkyTip "pinky-finger-tip",
}

use Joint::{
    IndexMetacarpal, IndexTip, MiddleMetacarpal, MiddleTip, PinkyMetacarpal, PinkyTip, RingMetacarpal,
    RingTip, ThumbMetacarpal, ThumbTip, Wrist,
};

impl Joint {
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
        assert_eq!(Side::from_name("Left"), Some(Side::Left));
    }
}
