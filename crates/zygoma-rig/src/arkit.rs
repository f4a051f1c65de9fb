//! arkit
