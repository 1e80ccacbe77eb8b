//! Budgets for what a model is shown. Pure.
