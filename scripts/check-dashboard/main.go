// Command check-dashboard checks dashboard files against Grafana's own schema, because the tests do not run Grafana.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins()
	var read dashboard.Dashboard
	// The error is a list of problems, which may be empty.
	if err := read.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return err
	}
	return read.Validate()
}
