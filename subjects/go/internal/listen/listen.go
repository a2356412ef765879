// Package listen opens the sockets that servers listen on.
package listen

import (
	"net"
	"strings"

	"rpcgauge/subjects/go/internal/settings"
)

// Loopback is a free port of the loopback.
var Loopback = settings.Listen{Transport: "tcp", Host: "127.0.0.1"}

// On listens where the settings say, and returns the address as a ready line has it.
func On(where settings.Listen) (net.Listener, string, error) {
	network, address := "tcp", net.JoinHostPort(where.Host, "0")
	if where.Transport == "unix" {
		network, address = "unix", where.Path
	}
	// The listener removes its socket file as it is closed.
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, "", settings.Refuse(settings.Machine, "cannot listen: %v; choose another address", err)
	}
	if network == "unix" {
		return listener, "unix:" + where.Path, nil
	}
	return listener, listener.Addr().String(), nil
}

// Target is the network and the address of an address of a settings line.
func Target(address string) (network, target string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}
