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

// Loopback is a free port of the loopback.
var Loopback = settings.Listen{Transport: "tcp", Host: "127.0.0.1"}

// Socket is a socket that is listened on.
type Socket struct {
	net.Listener
	address     string
	certificate string
	// TLS is how a server speaks it; nil if it does not.
	TLS *tls.Config
}

// Address is the address as a ready line has it.
func (s *Socket) Address() string { return s.address }

// Certificate is the server's own, in PEM, if it speaks TLS.
func (s *Socket) Certificate() string { return s.certificate }

// On listens where the settings say.
func On(asked *settings.Server) (*Socket, error) {
	where := asked.Listen
	network, address := "tcp", net.JoinHostPort(where.Host, "0")
	if where.Transport == "unix" {
		network, address = "unix", where.Path
	}
	// The listener removes its socket file as it is closed.
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

// certify makes a certificate for localhost and the address, with which TLS 1.3 is spoken, and no session is
// resumed.
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

// Trusting is TLS of a client that trusts a certificate in PEM, and no other. It resumes no session.
func Trusting(certificate string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(certificate))
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
}

// Target is the network and the address of an address of a settings line.
func Target(address string) (network, target string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}
