// The server that rpcgauge and other load generators call in turn: grpc-go and net/http as commonly used, each
// with a small response.
//
// It listens on free ports of the loopback interface, prints a line of JSON with its addresses, and exits when
// its standard input closes. For each byte on its standard input, it prints a line with its counts so far.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync/atomic"

	"google.golang.org/grpc"

	"rpcgauge/bench/server/hello"
)

//go:generate protoc --proto_path=../../../contract/proto --go_out=hello --go_opt=paths=source_relative,Mhello.proto=rpcgauge/bench/server/hello --go-grpc_out=hello --go-grpc_opt=paths=source_relative,Mhello.proto=rpcgauge/bench/server/hello hello.proto

// Connections and calls so far, to check whether a load generator performed its task.
var connections, calls atomic.Int64

type service struct {
	hello.UnimplementedHelloServer
}

func (service) SayHello(_ context.Context, request *hello.HelloRequest) (*hello.HelloReply, error) {
	calls.Add(1)
	return &hello.HelloReply{Message: greeting(request.GetName())}, nil
}

// sayHello serves the same call in JSON.
func sayHello(w http.ResponseWriter, r *http.Request) {
	calls.Add(1)
	var request struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// If the response cannot be written, there is no one to report the error to.
	_ = json.NewEncoder(w).Encode(struct {
		Message string `json:"message"`
	}{greeting(request.Name)})
}

func greeting(name string) string {
	return "Hello, " + name + "."
}

func main() {
	forGRPC, forHTTP := listen(), listen()
	server := grpc.NewServer()
	hello.RegisterHelloServer(server, service{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hello", sayHello)
	go func() { log.Fatal(server.Serve(forGRPC)) }()
	go func() { log.Fatal(http.Serve(forHTTP, mux)) }()

	fmt.Printf("{\"http\":%q,\"grpc\":%q}\n", forHTTP.Addr(), forGRPC.Addr())
	// When the input ends, for whatever reason, so does the server.
	for asked := make([]byte, 1); ; {
		if _, err := io.ReadFull(os.Stdin, asked); err != nil {
			return
		}
		fmt.Printf("{\"connections\":%d,\"calls\":%d}\n", connections.Load(), calls.Load())
	}
}

// counting counts the connections that a listener accepts.
type counting struct{ net.Listener }

func (l counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		connections.Add(1)
	}
	return conn, err
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return counting{listener}
}
