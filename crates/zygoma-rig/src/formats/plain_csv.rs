//! plain_csv
