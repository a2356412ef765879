// Package gateway is grpc-gateway in front of a grpc-go server, either in the same process or in a separate one.
package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/grpcgo"
	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/stack"
	"rpcgauge/subjects/go/internal/web"
)

// The stack and the program of the server behind a gateway in a separate process.
const (
	stackBehind   = "grpc-go"
	programBehind = "grpcgo"
)

// Register is the function that protoc-gen-grpc-gateway generates for a service.
type Register func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error

// Methods contains the registrations for a set of messages by method path.
type Methods map[string]Register

// Stacks returns two stacks: the gateway in the server's process, and the gateway in a separate process.
func Stacks(methods Methods, servers grpcgo.Methods) []*stack.Stack {
	together := func(asked *settings.Server, workload *bind.Workload) (stack.Server, error) {
		server, err := grpcgo.Serve(behind(asked), workload, servers)
		if err != nil {
			return nil, err
		}
		// They communicate over TCP, as in the library's guide.
		return serve(asked, workload, methods, server.Address(), server.Stop)
	}
	apart := func(asked *settings.Server, workload *bind.Workload) (stack.Server, error) {
		address, stop, err := start(behind(asked))
		if err != nil {
			return nil, err
		}
		return serve(asked, workload, methods, address, stop)
	}
	return []*stack.Stack{named("grpc-gateway", together), named("grpc-gateway-apart", apart)}
}

func named(name string, serve func(*settings.Server, *bind.Workload) (stack.Server, error)) *stack.Stack {
	return &stack.Stack{
		Name:      name,
		Protocols: stack.REST,
		Encodings: []string{"protojson"},
		Libraries: map[string]string{
			"grpc":         "google.golang.org/grpc",
			"grpc-gateway": "github.com/grpc-ecosystem/grpc-gateway/v2",
		},
		BoundsInflation: true,
		Generated:       stack.Always,
		Serve: func(asked *settings.Server, workload *bind.Workload) (stack.Server, error) {
			// It calls the method itself, unlike other servers of REST.
			if err := workload.CanCall(""); err != nil {
				return nil, err
			}
			return serve(asked, workload)
		},
	}
}

// Server is a running gateway and the server behind it.
type Server struct {
	*web.Server
	channel *grpc.ClientConn
	behind  func()
}

// Stop stops both.
func (s *Server) Stop() {
	s.Server.Stop()
	_ = s.channel.Close()
	s.behind()
}

// behind returns the settings of the server behind the gateway.
func behind(asked *settings.Server) *settings.Server {
	inner := *asked
	inner.Stack, inner.Protocol, inner.HTTP, inner.Encoding = stackBehind, "grpc", "2", "protobuf"
	inner.Listen, inner.ResponseCompression, inner.TLS = listen.Loopback, 0, false
	return &inner
}

func serve(asked *settings.Server, workload *bind.Workload, methods Methods, address string, stop func()) (*Server, error) {
	channel, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// The server is on this host, so proxies from the environment must be ignored.
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(asked.Limits.MessageBytes())))
	if err != nil {
		stop()
		return nil, settings.Refuse(settings.Subject, "no channel to %s: %v", address, err)
	}
	channel.Connect()
	mux := runtime.NewServeMux(runtime.WithOutgoingHeaderMatcher(header))
	if err := methods[workload.Path](context.Background(), mux, channel); err != nil {
		stop()
		return nil, settings.Refuse(settings.Subject, "the gateway has no %s: %v", workload.Path, err)
	}
	bounded := http.MaxBytesHandler(mux, int64(asked.Limits.MessageBytes()))
	server, err := web.Serve(asked, web.Gzip(bounded, asked.ResponseCompression, asked.Limits))
	if err != nil {
		stop()
		return nil, err
	}
	return &Server{Server: server, channel: channel, behind: stop}, nil
}

// header names response headers in the same way as the library, except for the marks.
func header(key string) (string, bool) {
	if strings.HasPrefix(key, "rpcgauge-") {
		return key, true
	}
	return runtime.MetadataHeaderPrefix + key, true
}

// start runs the server behind the gateway as a separate subject: the program of grpc-go, in the same folder as this
// one. It exits when its standard input is closed, even if this process is killed.
func start(inner *settings.Server) (address string, stop func(), err error) {
	failed := func(err error) (string, func(), error) {
		return "", nil, settings.Refuse(settings.Subject, "the server behind the gateway: %v", err)
	}
	own, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	line, err := json.Marshal(inner)
	if err != nil {
		return failed(err)
	}
	command := exec.Command(filepath.Join(filepath.Dir(own), programBehind))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return failed(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return failed(err)
	}
	if err := command.Start(); err != nil {
		return failed(err)
	}
	stop = func() {
		_ = in.Close()
		// Its exit code is irrelevant for the calls.
		_ = command.Wait()
	}
	if _, err := in.Write(append(line, '\n')); err != nil {
		stop()
		return failed(err)
	}
	reply, err := bufio.NewReader(io.LimitReader(out, 1<<20)).ReadBytes('\n')
	if err != nil {
		stop()
		return failed(err)
	}
	var ready struct {
		Address string         `json:"address"`
		Error   string         `json:"error"`
		Fault   settings.Fault `json:"fault"`
	}
	if err := json.Unmarshal(reply, &ready); err != nil {
		stop()
		return failed(err)
	}
	if ready.Address == "" {
		stop()
		return "", nil, settings.Refuse(ready.Fault, "the server behind the gateway: %s", ready.Error)
	}
	return ready.Address, stop, nil
}
