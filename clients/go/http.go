package nacre

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// APIError says that the server did not do what it was asked to.
type APIError struct {
	Status     int
	Kind       string // "input", "auth", "scope", "limit", "host", "origin", "system"
	Message    string
	RetryAfter time.Duration // 0: the server named no time
}

func (e *APIError) Error() string { return fmt.Sprintf("nacre: %s (HTTP %d)", e.Message, e.Status) }

type door struct {
	base  string // "http://HOST:PORT"
	token string
	http  *http.Client
}

// newDoor takes "http://HOST:PORT", "unix:PATH", or nothing: NACRE_URL, else the socket of this user's server.
func newDoor(address, token string) (*door, error) {
	if address == "" {
		address = os.Getenv("NACRE_URL")
	}
	if address == "" {
		address = "unix:" + defaultSocket()
	}
	if token == "" {
		token = os.Getenv("NACRE_TOKEN")
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second, DialContext: dialer.DialContext}
	if path := strings.TrimPrefix(address, "unix:"); path != address {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
		address = "http://localhost"
	}
	parts, err := url.Parse(address)
	if err != nil || parts.Scheme != "http" || parts.Host == "" || strings.Trim(parts.Path, "/") != "" {
		return nil, fmt.Errorf("nacre: '%s' is not an address; use http://HOST:PORT or unix:PATH", address)
	}
	return &door{base: "http://" + parts.Host, token: token, http: &http.Client{Transport: transport}}, nil
}

func defaultSocket() string {
	state := os.Getenv("NACRE_STATE_DIR")
	if state == "" && os.Geteuid() == 0 {
		state = "/var/lib/nacre"
	} else if state == "" {
		home, _ := os.UserHomeDir()
		state = filepath.Join(home, ".local/state/nacre")
	}
	return filepath.Join(state, "nacre.sock")
}

// open sends a request. The caller closes the body; an error of the server is an *APIError.
func (d *door) open(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, d.base+path, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	for name, values := range header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if d.token != "" {
		request.Header.Set("Authorization", "Bearer "+d.token)
	}
	answer, err := d.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("nacre: %w", err)
	}
	if answer.StatusCode >= 400 {
		defer answer.Body.Close()
		return nil, readError(answer)
	}
	return answer, nil
}

func readError(answer *http.Response) error {
	var body struct {
		Error  struct{ Kind, Message string }
		Stderr string
	}
	e := &APIError{Status: answer.StatusCode, Kind: "system", Message: fmt.Sprintf("the server answered %d", answer.StatusCode)}
	if json.NewDecoder(answer.Body).Decode(&body) == nil {
		switch {
		case body.Error.Message != "":
			e.Kind, e.Message = body.Error.Kind, body.Error.Message
		case body.Stderr != "":
			e.Message = body.Stderr
		}
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// do sends a request and reads its answer into `into`, a pointer.
func (d *door) do(ctx context.Context, method, path string, body, into any) error {
	answer, err := d.open(ctx, method, path, body, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return fmt.Errorf("nacre: the answer: %w", err)
	}
	return nil
}

// events calls `each` for every event of an answer, until it fails or the stream ends.
func events(body io.Reader, each func(name string, data []byte) error) error {
	reader := bufio.NewReader(body)
	var name string
	var data []byte
	for {
		line, err := reader.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("nacre: the stream: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" && data != nil:
			if err := each(name, data); err != nil {
				return err
			}
			name, data = "", nil
		case strings.HasPrefix(line, "event:"):
			name = strings.TrimSpace(line[len("event:"):])
		case strings.HasPrefix(line, "data:"):
			data = append(data, strings.TrimPrefix(line[len("data:"):], " ")...)
		}
	}
}

// at adds the parameters that are not empty to a path.
func at(path string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
