// Command check-dashboard checks a dashboard file against Grafana's own schema, because the tests do not run Grafana.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
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
