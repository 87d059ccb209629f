//! Intake.
