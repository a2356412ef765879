package snippets

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const procedure = "/test.Echo/Echo"

// encodings records the compression of the messages that one side receives.
type encodings struct{ received string }

func (*encodings) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*encodings) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*encodings) HandleConn(context.Context, stats.ConnStats)                       {}
func (e *encodings) HandleRPC(_ context.Context, rpc stats.RPCStats) {
	if header, ok := rpc.(*stats.InHeader); ok {
		e.received = header.Compression
	}
}

// called makes a call.
func called(t *testing.T, serve func(net.Listener) error, connect func(string) (*grpc.ClientConn, error)) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() { _ = serve(listener) }()
	conn, err := connect(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := grpc_health_v1.NewHealthClient(conn)
	if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
}

func register(server grpc.ServiceRegistrar) {
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
}

func TestGrpcGoServers(t *testing.T) {
	for encoding, serve := range map[string]func(net.Listener, func(grpc.ServiceRegistrar)) error{
		"": Serve, "gzip": ServeGzip,
	} {
		var responses encodings
		called(t, func(listener net.Listener) error { return serve(listener, register) },
			func(address string) (*grpc.ClientConn, error) {
				return grpc.NewClient(address,
					grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(&responses))
			})
		if responses.received != encoding {
			t.Errorf("responses with encoding %q, not %q", responses.received, encoding)
		}
	}
}

func TestGrpcGoClients(t *testing.T) {
	for encoding, connect := range map[string]func(string) (*grpc.ClientConn, error){
		"": NewConn, "gzip": NewGzipConn,
	} {
		var requests encodings
		called(t, func(listener net.Listener) error {
			server := grpc.NewServer(grpc.StatsHandler(&requests))
			register(server)
			return server.Serve(listener)
		}, connect)
		if requests.received != encoding {
			t.Errorf("requests with encoding %q, not %q", requests.received, encoding)
		}
	}
}

// encoded returns the compression of a message over Connect's protocol or gRPC.
func encoded(header http.Header) string {
	return header.Get("Content-Encoding") + header.Get("Grpc-Encoding")
}

func TestConnectGo(t *testing.T) {
	var requested string
	echo := func(
		_ context.Context, request *connect.Request[wrapperspb.StringValue],
	) (*connect.Response[wrapperspb.StringValue], error) {
		requested = encoded(request.Header())
		return connect.NewResponse(request.Msg), nil
	}
	text := strings.Repeat("text", 1_000)
	for server, serves := range map[*http.Server]bool{
		ConnectServer("127.0.0.1:0", connectHandler(echo, ConnectOptions()...)): false,
		GzipConnectServer("127.0.0.1:0", connectHandler(echo)):                  true,
	} {
		listener, err := net.Listen("tcp", server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(listener) }()
		url := "http://" + listener.Addr().String() + procedure
		for name, connecting := range map[string]func() (*http.Client, []connect.ClientOption){
			"": ConnectClient, "gzip": GzipConnectClient,
		} {
			client, options := connecting()
			for _, protocol := range []string{connect.ProtocolConnect, connect.ProtocolGRPC} {
				if protocol == connect.ProtocolGRPC {
					options = append(options, connect.WithGRPC())
				}
				client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](client, url, options...)
				response, err := client.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String(text)))
				if err != nil || response.Msg.GetValue() != text {
					t.Fatal(err, response)
				}
				responded := ""
				if serves {
					responded = name
				}
				if requested != name {
					t.Errorf("a request by %s in %q, not %q", protocol, requested, name)
				}
				// gRPC's header allows compression, and the message may be uncompressed.
				got := encoded(response.Header())
				if protocol == connect.ProtocolConnect && got != responded {
					t.Errorf("a response in %q, not %q", got, responded)
				}
			}
		}
		_ = server.Close()
	}
	// The library's own client accepts gzip.
	server := httptest.NewServer(connectHandler(echo, ConnectOptions()...))
	defer server.Close()
	usual := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](server.Client(), server.URL+procedure)
	response, err := usual.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String(text)))
	if err != nil || encoded(response.Header()) != "" {
		t.Errorf("%v, %q", err, encoded(response.Header()))
	}
}

func connectHandler(
	echo func(context.Context, *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error),
	options ...connect.HandlerOption,
) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(procedure, connect.NewUnaryHandler(procedure, echo, options...))
	return mux
}

func TestNetHTTP(t *testing.T) {
	text := strings.Repeat("text", 1_000)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Over HTTP/1.1, a handler reads the request before it responds.
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	plain := func(url string) (*http.Request, error) {
		return http.NewRequest(http.MethodPost, url, strings.NewReader(text))
	}
	compressed := func(url string) (*http.Request, error) { return NewGzipRequest(url, "text/plain", []byte(text)) }
	for _, pair := range []struct {
		handler http.Handler
		client  *http.Client
		request func(string) (*http.Request, error)
		gzip    bool
	}{
		{echo, NewClient(1), plain, false},
		{echo, NewGzipClient(1), plain, false},
		{Gzip(echo), NewClient(1), plain, false},
		{Gzip(echo), NewGzipClient(1), compressed, true},
	} {
		server := httptest.NewUnstartedServer(nil)
		server.Config = NewServer("", pair.handler)
		server.Start()
		request, err := pair.request(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if sent := request.ContentLength < 1_000; sent != pair.gzip {
			t.Errorf("a request of %d bytes", request.ContentLength)
		}
		response, err := pair.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || string(body) != text || response.Uncompressed != pair.gzip {
			t.Errorf("%v, %d bytes, gzip: %v, not %v", err, len(body), response.Uncompressed, pair.gzip)
		}
		_ = response.Body.Close()
		server.Close()
	}
}
