CREATE TABLE posts (
    id         BIGINT PRIMARY KEY,
    author_id  BIGINT       NOT NULL,
    text       VARCHAR(500) NOT NULL,
    created_at TIMESTAMPTZ  NOT NULL
);
CREATE INDEX posts_author_created ON posts (author_id, created_at DESC);
