package nethttp

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/web"
)

// serve starts a server.
func serve(asked *settings.Server, workload *bind.Workload) (*web.Server, error) {
	format := formats.Of[asked.Encoding]
	service, err := format.Handler(workload)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+workload.REST, handler(asked, workload, format, service))
	return web.Serve(asked, web.Gzip(mux, asked.ResponseCompression, asked.Limits))
}

func handler(asked *settings.Server, workload *bind.Workload, format formats.Format, service func(any) (any, error)) http.HandlerFunc {
	most := int64(asked.Limits.MessageBytes())
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		request := format.New(workload, "request")
		if err := format.Unmarshal(body, request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		start := measure.Now()
		response, err := service(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		header := w.Header()
		if asked.Marks {
			bind.Marks{Start: start, End: measure.Now()}.Each(header.Set)
		}
		encoded, err := format.Marshal(response)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		header.Set("Content-Type", format.MediaType)
		header.Set("Content-Length", strconv.Itoa(len(encoded)))
		// Fails only if the client is gone.
		_, _ = w.Write(encoded)
	}
}

func statusOf(err error) int {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || errors.Is(err, web.ErrTooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
