CREATE TABLE members (
    id            BIGINT PRIMARY KEY,
    email         VARCHAR(100) NOT NULL UNIQUE,
    password      VARCHAR(100) NOT NULL,
    profile_image VARCHAR(100),
    nickname      VARCHAR(30)  NOT NULL UNIQUE
);
-- For a search by the first letters, whatever the collation of the database is.
CREATE INDEX members_nickname_prefix ON members (nickname varchar_pattern_ops);
