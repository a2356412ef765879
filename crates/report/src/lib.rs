//! What a run means: findings and verdicts as terminal text, HTML, JSON, Markdown and CSV.
