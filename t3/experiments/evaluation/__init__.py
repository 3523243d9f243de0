"""The paper's evaluation: its measurements, claims, tables, figures and pages."""
