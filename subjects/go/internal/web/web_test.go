package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/settings"
)

func TestGzipIsTakenFromTheHeader(t *testing.T) {
	for header, want := range map[string]bool{
		"":                 false,
		"gzip":             true,
		"br, GZIP;q=0.5":   true,
		"gzip;q=0":         false,
		"gzip; q=0.0, br":  false,
		"identity, x-gzip": false,
		"*":                false,
	} {
		if got := takesGzip([]string{header}); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = w.Write(body)
}

func TestBodiesAreCompressedBothWays(t *testing.T) {
	text := strings.Repeat("rpcgauge ", 1000)
	compressed, err := NewCompressors(6).Compress([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []settings.Compression{0, 1, 9} {
		handler := Gzip(http.HandlerFunc(echo), level, settings.Limits{})
		// Repeated, because later rounds reuse what earlier ones returned to the pool.
		for range 3 {
			request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(compressed))
			request.Header.Set("Content-Encoding", "gzip")
			request.Header.Set("Accept-Encoding", "gzip")
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			body := io.Reader(recorder.Body)
			if isCompressed := recorder.Header().Get("Content-Encoding") == "gzip"; isCompressed != (level > 0) {
				t.Fatalf("level %d: compressed is %v", level, isCompressed)
			}
			if level > 0 {
				if body, err = gzip.NewReader(body); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := io.ReadAll(body); err != nil || string(got) != text {
				t.Fatalf("level %d: %v, %d bytes", level, err, len(got))
			}
		}
	}
}

func TestDamagedAndInflatedBodiesAreRefused(t *testing.T) {
	bomb, err := NewCompressors(9).Compress(make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	for what, body := range map[string][]byte{"damaged": []byte("no gzip"), "cut": bomb[:100], "too large": bomb} {
		handler := Gzip(http.HandlerFunc(echo), 6, settings.Limits{MaxMessageBytes: 100_000})
		request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		request.Header.Set("Content-Encoding", "gzip")
		request.Header.Set("Accept-Encoding", "gzip")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusBadRequest || recorder.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d, %v", what, recorder.Code, recorder.Header())
		}
	}
	unknown := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	unknown.Header.Set("Content-Encoding", "br")
	recorder := httptest.NewRecorder()
	Gzip(http.HandlerFunc(echo), 0, settings.Limits{}).ServeHTTP(recorder, unknown)
	if recorder.Code != http.StatusUnsupportedMediaType {
		t.Errorf("br: %d", recorder.Code)
	}
}

func TestLostConnectionsAreCountedAndOpenedAgain(t *testing.T) {
	for _, version := range []string{"1.1", "2"} {
		path := filepath.Join(t.TempDir(), "socket")
		where := &settings.Server{Listen: settings.Listen{Transport: "unix", Path: path}}
		server, err := Serve(where, http.HandlerFunc(echo))
		if err != nil {
			t.Fatal(err)
		}
		asked := client(t, server.Address(), version)
		transport := NewTransport(asked, false)
		want := 3
		if version == "2" {
			want = 1
		}
		reopen(t, transport, want)
		post(t, transport)
		reopen(t, transport, 0)
		server.Stop()
		// The transport notices asynchronously that its connections were closed.
		for deadline := time.Now().Add(10 * time.Second); transport.open.Load() == int64(want); {
			if time.Now().After(deadline) {
				t.Fatal("a closed connection is counted as open")
			}
			time.Sleep(time.Millisecond)
		}
		if server, err = Serve(where, http.HandlerFunc(echo)); err != nil {
			t.Fatal(err)
		}
		reopen(t, transport, want)
		post(t, transport)
		server.Stop()
	}
}

func TestAServerSpeaksTLSWithItsOwnCertificate(t *testing.T) {
	server, err := Serve(&settings.Server{Listen: listen.Loopback, TLS: true}, http.HandlerFunc(echo))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	url := "https://" + server.Address()
	for major, protocols := range map[int]*http.Protocols{1: {}, 2: {}} {
		protocols.SetHTTP1(major == 1)
		protocols.SetHTTP2(major == 2)
		transport := &http.Transport{
			TLSClientConfig:   listen.Trusting(server.Certificate()),
			Protocols:         protocols,
			DisableKeepAlives: true,
		}
		client := http.Client{Transport: transport}
		for range 2 {
			response, err := client.Post(url, "text/plain", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.ProtoMajor != major || response.TLS.Version != tls.VersionTLS13 || response.TLS.DidResume {
				t.Errorf("%s, %+v", response.Proto, response.TLS)
			}
		}
	}
	if _, err := http.Post(url, "text/plain", strings.NewReader("body")); err == nil {
		t.Error("anyone trusts its certificate")
	}
}

func client(t *testing.T, address, version string) *settings.Client {
	t.Helper()
	line := `{"contract":1,"role":"client","workload":{"name":"hello"},"protocol":"rest","encoding":"json",
		"http":"` + version + `","address":"` + address + `","requests":[{}],"deadline_ms":10000,"records":"/r","in_flight":3}`
	asked, err := settings.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	parsed, ok := asked.([]*settings.Client)
	if !ok {
		t.Fatalf("%T", asked)
	}
	return parsed[0]
}

func reopen(t *testing.T, transport *Transport, want int) {
	t.Helper()
	opened, err := transport.Connect(context.Background())
	if err != nil || opened != want {
		t.Fatalf("%v: %d opened, and not %d", err, opened, want)
	}
}

func post(t *testing.T, transport *Transport) {
	t.Helper()
	client := http.Client{Transport: transport.Transport}
	response, err := client.Post("http://localhost/", "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "body" {
		t.Fatalf("%v: %q", err, body)
	}
}
