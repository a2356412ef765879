// Package listen opens the sockets that servers listen on.
package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"time"

	"rpcgauge/subjects/go/internal/settings"
)

// Loopback listens on a free port of the loopback interface.
var Loopback = settings.Listen{Transport: "tcp", Host: "127.0.0.1"}

// Socket is a listening socket.
type Socket struct {
	net.Listener
	address     string
	certificate string
	// TLS is the server's TLS configuration; nil without TLS.
	TLS *tls.Config
}

// Address returns the address in the form of a ready line.
func (s *Socket) Address() string { return s.address }

// Certificate returns the server's certificate in PEM; empty without TLS.
func (s *Socket) Certificate() string { return s.certificate }

// On listens on the address in the settings.
func On(asked *settings.Server) (*Socket, error) {
	where := asked.Listen
	network, address := "tcp", net.JoinHostPort(where.Host, "0")
	if where.Transport == "unix" {
		network, address = "unix", where.Path
	}
	// The listener removes its socket file when it is closed.
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, settings.Refuse(settings.Machine, "cannot listen: %v; choose another address", err)
	}
	socket := &Socket{Listener: listener, address: listener.Addr().String()}
	if network == "unix" {
		socket.address = "unix:" + where.Path
	}
	if asked.TLS {
		if err := socket.certify(); err != nil {
			return nil, settings.Refuse(settings.Machine, "cannot make a certificate: %v", err)
		}
	}
	return socket, nil
}

// certify creates a certificate for localhost and the address, and configures TLS 1.3 without session resumption.
func (s *Socket) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "rpcgauge"},
		NotBefore:    now.AddDate(0, 0, -1),
		NotAfter:     now.AddDate(1, 0, 0),
		DNSNames:     []string{"localhost"},
	}
	if tcp, ok := s.Addr().(*net.TCPAddr); ok {
		template.IPAddresses = []net.IP{tcp.IP}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	s.certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	s.TLS = &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
	}
	return nil
}

// Trusting returns the TLS configuration of a client that trusts only the given certificate in PEM. It does not resume
// sessions.
func Trusting(certificate string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(certificate))
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
}

// Target returns the network and the address for an address in a settings line.
func Target(address string) (network, target string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}
