//! usda
