package settings

import (
	"fmt"
	"strings"
)

// Compression is gzip's level, 0 for none.
type Compression int

// defaultGzip is the level of a plain "gzip".
const defaultGzip = 6

// UnmarshalText parses none, gzip or gzip:LEVEL.
func (c *Compression) UnmarshalText(text []byte) error {
	name, level, leveled := strings.Cut(string(text), ":")
	switch {
	case name == "none" && !leveled:
		*c = 0
		return nil
	case name == "gzip" && !leveled:
		*c = defaultGzip
		return nil
	case name == "gzip" && len(level) == 1 && level >= "1":
		*c = Compression(level[0] - '0')
		return nil
	}
	return fmt.Errorf("compression %q: this subject supports none, gzip, and gzip:1 to gzip:9", text)
}

// MarshalText writes what UnmarshalText reads.
func (c Compression) MarshalText() ([]byte, error) {
	if c == 0 {
		return []byte("none"), nil
	}
	return fmt.Appendf(nil, "gzip:%d", int(c)), nil
}
