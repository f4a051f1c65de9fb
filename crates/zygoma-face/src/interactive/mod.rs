//! Touch and pull any rig in real time, after *Interactive Facial Animation* (IFA).

pub mod fit;
