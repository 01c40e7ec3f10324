"""The pages: one module per report with the texts, tables and figures of its sections."""
