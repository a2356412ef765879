package snippets

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const procedure = "/test.Echo/Echo"

const text = "text that is compressed well, because it is repeated. "

var long = strings.Repeat(text, 100)

// relayed starts a relay of one connection to an address. It returns the relay's address, and a function that returns how
// many uncompressed messages the connection has carried.
func relayed(t *testing.T, to string) (string, func() int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var carried atomic.Int64
	forward := func(from, to net.Conn) {
		buffer := make([]byte, 1<<16)
		for {
			n, err := from.Read(buffer)
			carried.Add(int64(n))
			if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
				_, _ = from.Close(), to.Close()
				return
			}
		}
	}
	go func() {
		defer func() { _ = listener.Close() }()
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", to)
		if err != nil {
			_ = client.Close()
			return
		}
		go forward(client, server)
		forward(server, client)
	}()
	plain := func() int { return int(math.Round(float64(carried.Load()) / float64(len(long)))) }
	return listener.Addr().String(), plain
}

// echo is a gRPC service without generated code.
var echo = grpc.ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Echo",
		Handler: func(_ any, ctx context.Context, read func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
			request := &wrapperspb.StringValue{}
			if err := read(request); err != nil {
				return nil, err
			}
			handle := func(_ context.Context, request any) (any, error) { return request, nil }
			if around == nil {
				return handle(ctx, request)
			}
			return around(ctx, request, &grpc.UnaryServerInfo{FullMethod: procedure}, handle)
		},
	}},
}

func TestGrpcGo(t *testing.T) {
	register := func(server grpc.ServiceRegistrar) { server.RegisterService(&echo, nil) }
	for _, pair := range []struct {
		serve   func(net.Listener, func(grpc.ServiceRegistrar)) error
		connect func(string) (*grpc.ClientConn, error)
		plain   int
	}{
		{Serve, NewConn, 2},
		{ServeGzip, NewConn, 1}, // this program imports gzip, so the client accepts it
		{Serve, NewGzipConn, 0}, // the response is compressed as the request is
		{ServeGzip, NewGzipConn, 0},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = pair.serve(listener, register) }()
		address, plain := relayed(t, listener.Addr().String())
		conn, err := pair.connect(address)
		if err != nil {
			t.Fatal(err)
		}
		response := &wrapperspb.StringValue{}
		err = conn.Invoke(t.Context(), procedure, wrapperspb.String(long), response)
		if err != nil || response.GetValue() != long {
			t.Fatal(err, response)
		}
		if got := plain(); got != pair.plain {
			t.Errorf("%d plain messages, not %d", got, pair.plain)
		}
		_, _ = conn.Close(), listener.Close()
	}
}

func TestConnectGo(t *testing.T) {
	respond := func(
		_ context.Context, request *connect.Request[wrapperspb.StringValue],
	) (*connect.Response[wrapperspb.StringValue], error) {
		return connect.NewResponse(request.Msg), nil
	}
	usual := func() (*http.Client, []connect.ClientOption) {
		client, _ := ConnectClient()
		return client, nil
	}
	plainServer := func() *http.Server {
		return ConnectServer("127.0.0.1:0", connectHandler(respond, ConnectOptions()...))
	}
	gzipServer := func() *http.Server { return GzipConnectServer("127.0.0.1:0", connectHandler(respond)) }
	for _, pair := range []struct {
		server func() *http.Server
		client func() (*http.Client, []connect.ClientOption)
		plain  int
	}{
		{plainServer, ConnectClient, 2},
		{plainServer, usual, 2}, // the library's own client accepts gzip
		{gzipServer, ConnectClient, 2},
		{gzipServer, usual, 1},
		{plainServer, GzipConnectClient, 1},
		{gzipServer, GzipConnectClient, 0},
	} {
		for _, protocol := range []string{connect.ProtocolConnect, connect.ProtocolGRPC} {
			server := pair.server()
			listener, err := net.Listen("tcp", server.Addr)
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = server.Serve(listener) }()
			address, plain := relayed(t, listener.Addr().String())
			client, options := pair.client()
			if protocol == connect.ProtocolGRPC {
				options = append(options, connect.WithGRPC())
			}
			url := "http://" + address + procedure
			caller := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](client, url, options...)
			response, err := caller.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String(long)))
			if err != nil || response.Msg.GetValue() != long {
				t.Fatal(err, response)
			}
			if got := plain(); got != pair.plain {
				t.Errorf("%s: %d plain messages, not %d", protocol, got, pair.plain)
			}
			client.CloseIdleConnections()
			_ = server.Close()
		}
	}
}

func connectHandler(
	respond func(context.Context, *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error),
	options ...connect.HandlerOption,
) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(procedure, connect.NewUnaryHandler(procedure, respond, options...))
	return mux
}

func TestNetHTTP(t *testing.T) {
	respond := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Over HTTP/1.1, a handler reads the request before it responds.
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	plain := func(url string) (*http.Request, error) {
		return http.NewRequest(http.MethodPost, url, strings.NewReader(long))
	}
	compressed := func(url string) (*http.Request, error) { return NewGzipRequest(url, "text/plain", []byte(long)) }
	for _, pair := range []struct {
		handler http.Handler
		client  *http.Client
		request func(string) (*http.Request, error)
		gzip    bool
	}{
		{respond, NewClient(1), plain, false},
		{respond, NewGzipClient(1), plain, false},
		{Gzip(respond), NewClient(1), plain, false},
		{Gzip(respond), NewGzipClient(1), compressed, true},
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
		if err != nil || string(body) != long || response.Uncompressed != pair.gzip {
			t.Errorf("%v, %d bytes, gzip: %v, not %v", err, len(body), response.Uncompressed, pair.gzip)
		}
		_ = response.Body.Close()
		server.Close()
	}
}
