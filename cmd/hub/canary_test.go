package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/wire"
)

// secretForms returns a secret in the forms in which data may have it: plain, escaped for JSON and
// URLs, in hex, and in base64 at each of the three offsets that a longer text can put it at.
func secretForms(secret string) []string {
	escaped, _ := json.Marshal(secret) // a string can be encoded
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(secret)
	forms := []string{
		secret, string(escaped[1 : len(escaped)-1]), strings.TrimSuffix(plain.String()[1:], "\"\n"), url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for offset, cut := range []int{0, 2, 3} { // characters that depend on the bytes before
		whole := append(make([]byte, offset), secret...)
		whole = whole[:len(whole)-len(whole)%3] // the rest depends on the bytes after
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, e.EncodeToString(whole)[cut:])
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// haystack is data that must have no secrets.
type haystack struct {
	t     *testing.T
	forms map[string][]string // by the name of the secret
	bytes int
}

func newHaystack(t *testing.T, secrets map[string]string) *haystack {
	t.Helper()
	h := &haystack{t: t, forms: map[string][]string{}}
	for name, secret := range secrets {
		h.forms[name] = secretForms(secret)
	}
	return h
}

// search searches data for all secrets.
func (h *haystack) search(where string, data []byte) {
	h.t.Helper()
	h.bytes += len(data)
	for name, forms := range h.forms {
		for _, form := range forms {
			if at := bytes.Index(data, []byte(form)); at >= 0 {
				h.t.Errorf("%s has the %s as %q: …%q…", where, name, form, data[max(0, at-80):min(len(data), at+len(form)+20)])
			}
		}
	}
}

// searchFolder searches all files of a folder.
func (h *haystack) searchFolder(root string) {
	h.t.Helper()
	files := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		h.search("the file "+path, data)
		files++
		return err
	})
	if err != nil || files == 0 {
		h.t.Errorf("search %s: %d files, %v; want some", root, files, err)
	}
}

// searchProcesses searches the arguments of all processes and the environments of those that are not
// allowed to have a secret.
func (h *haystack) searchProcesses(allowed func(pid int) bool) {
	h.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		h.t.Fatalf("there are no processes: %v", err)
	}
	for _, at := range all {
		pid, _ := strconv.Atoi(filepath.Base(at))
		if line, err := os.ReadFile(filepath.Join(at, "cmdline")); err == nil { // it may have ended
			h.search("the command line of process "+strconv.Itoa(pid), line)
		}
		if env, err := os.ReadFile(filepath.Join(at, "environ")); err == nil && !allowed(pid) {
			h.search("the environment of process "+strconv.Itoa(pid), env)
		}
	}
}

// The search finds a secret in each form, also inside of base64.
func TestSecretFormsAreFound(t *testing.T) {
	t.Parallel()
	const secret = `canary/"<&>\é-0815`
	quoted, err := json.Marshal(map[string]string{"x": "the key " + secret + " is wrong"})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(quoted), "a=" + url.QueryEscape(secret) + "&b", hex.EncodeToString([]byte("x" + secret))}
	for _, before := range []string{"", "1", "12", "123"} {
		texts = append(texts, base64.StdEncoding.EncodeToString([]byte(before+secret+"?!")), base64.URLEncoding.EncodeToString([]byte(before+secret)))
	}
	for _, text := range texts {
		if !slices.ContainsFunc(secretForms(secret), func(form string) bool { return strings.Contains(text, form) }) {
			t.Errorf("%s: the secret is not found, want it found", text)
		}
	}
}

// recordFrames records the bytes of a WebSocket: a server does not mask its frames.
func recordFrames(t *testing.T, hub, path, protocol string) *record {
	t.Helper()
	addr := strings.TrimPrefix(hub, "http://")
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	request := "GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
	if protocol != "" {
		request += "Sec-WebSocket-Protocol: " + protocol + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		t.Fatal(err)
	}
	return recordAll(t, conn)
}

// recordAll records what r returns until the test ends.
func recordAll(t *testing.T, r io.ReadCloser) *record {
	t.Helper()
	var got record
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&got, r) // until it is closed
	}()
	t.Cleanup(func() {
		_ = r.Close()
		<-done
	})
	return &got
}

// until waits until the record has a text.
func (r *record) until(t *testing.T, what, text string) {
	t.Helper()
	timeout := time.After(waitTimeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(r.String(), text) {
		select {
		case <-tick.C:
		case <-timeout:
			got := r.String()
			t.Fatalf("%s: got %d bytes, at the end %q, want %q in them", what, len(got), got[max(0, len(got)-500):], text)
		}
	}
}

// canaryErrors are answers of a model server that quote the key in each form.
func canaryErrors(key string) (all []http.HandlerFunc) {
	quoted, _ := json.Marshal("Incorrect API key provided: " + key + ".") // a string can be encoded
	dump, _ := json.Marshal(map[string]any{"headers": map[string]string{"x-api-key": key}})
	nested, _ := json.Marshal(string(dump))
	object := func(message string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":` + message + `}}`
	}
	all = append(all, fakemodel.Status(http.StatusBadRequest, object(string(quoted))), fakemodel.Status(http.StatusBadRequest, object(string(nested))),
		fakemodel.Status(http.StatusUnauthorized, string(dump)))
	for _, form := range secretForms(key) {
		text, _ := json.Marshal("refused: " + form)
		all = append(all, fakemodel.Status(http.StatusBadRequest, object(string(text))),
			fakemodel.Raw("event: error\ndata: "+object(string(text))+"\n\n"))
	}
	return all
}

// Canary keys are used by a model and by an agent that is a program, and are found nowhere else: not in
// the data of either store, logs, exports, traces, metrics, the audit, frames of any protocol, answers
// of REST, arguments, or environments of other processes.
func TestCanaryKeysAreNowhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			// The keys differ between tests that run at once, because all processes are searched.
			modelKey := `ck-canary-"model<&>\` + kind + "-" + strconv.Itoa(os.Getpid())
			agentKey := "ck-canary-agent+/" + kind + "-" + strconv.Itoa(os.Getpid())
			home, data, keyFile := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "keys")
			args := []string{"--store", "file:" + data}
			var redis *redistest.Server
			if kind == "redis" {
				redis = redistest.Standalone(t)
				if err := os.WriteFile(keyFile, []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				args = []string{"--store", redis.URL(), "--secret-key-file", keyFile}
			}
			model := fakemodel.New()
			model.Key = modelKey
			address, err := model.Listen(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(model.Close)
			traces := startCollector(t)
			agent := programAgent(home)
			agent.env = []string{"MY_KEY=" + agentKey, "HOME=" + home}
			var log record
			s := newServer(t, agent, append(args, "--log-level", "debug", "--files-dir", filepath.Join(data, "files"),
				"--provider-hosts", strings.TrimPrefix(address, "http://"), "--otlp-endpoint", traces.url))
			s.log = io.MultiWriter(&log, t.Output())
			s.start(t, "127.0.0.1:0")
			h := newHaystack(t, map[string]string{"key of the model": modelKey, "key of the agent": agentKey})
			c := canaryRun{t: t, s: s, model: model, address: address, key: modelKey, hay: h}

			// The frames of all protocols are recorded from the start.
			id := createSession(t, s.url)
			streams := map[string]*record{
				"v2":    recordFrames(t, s.url, "/ws/"+string(id), "everdesk.v2"),
				"batch": recordFrames(t, s.url, "/ws/"+string(id), "everdesk.v2.batch"),
				"seed":  recordFrames(t, s.url, "/ws/"+string(id), ""),
				"flat":  recordFrames(t, s.url, "/ws?monitorId=monitor-0&sessionId="+string(id), ""),
				"yaar":  recordFrames(t, s.url, "/ws?monitorId=0&sessionId="+string(id), ""),
				"SSE":   c.stream("/api/sessions/" + string(id) + "/events"),
				"admin": c.stream("/api/admin/live"),
				"tail":  c.stream("/api/admin/sessions/" + string(id) + "/tail"),
			}
			c.useModel(id)
			c.useAgent(id, home, agentKey)
			for _, name := range []string{"v2", "batch", "seed", "flat", "yaar", "SSE", "tail"} {
				streams[name].until(t, name, "AGENT_RESPONSE")
			}
			c.readEverything(id)
			if code := s.stop(t); code != command.ExitOK {
				t.Errorf("exit code %d, want 0", code)
			}
			for name, got := range streams {
				h.search("the stream "+name, []byte(got.String()))
			}
			h.search("the log", []byte(log.String()))
			if !strings.Contains(log.String(), "level=DEBUG") {
				t.Error("the log has no line of level debug, want some")
			}
			h.searchFolder(home)
			traces.mu.Lock()
			defer traces.mu.Unlock()
			h.search("the traces", bytes.Join(traces.raw, nil))
			if len(traces.spans) == 0 {
				t.Error("the collector got no spans, want some")
			}
			if redis != nil {
				h.search("the dump of Redis", dumpRedis(t, redis))
			} else {
				h.searchFolder(data)
			}
			t.Logf("searched %d bytes", h.bytes)
		})
	}
}

// dumpRedis returns the uncompressed dump of a server.
func dumpRedis(t *testing.T, s *redistest.Server) []byte {
	t.Helper()
	r := s.Client(t)
	if err := r.ConfigSet(t.Context(), "rdbcompression", "no").Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	where, err := r.ConfigGet(t.Context(), "d*").Result()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(where["dir"], where["dbfilename"]))
	if err != nil || !bytes.Contains(data, []byte("AGENT_RESPONSE")) {
		t.Fatalf("the dump has %d bytes without the log of the session (%v), want it with the log", len(data), err)
	}
	return data
}

// canaryRun is a hub that has a canary key as a secret.
type canaryRun struct {
	t       *testing.T
	s       *server
	model   *fakemodel.Server
	address string
	key     string
	hay     *haystack
}

// stream records an endless answer.
func (c canaryRun) stream(path string) *record {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.s.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req) //nolint:bodyclose // recordAll closes it
	if err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: got %v, %v, want an endless answer", path, res, err)
	}
	return recordAll(c.t, res.Body)
}

// call sends a request and searches the answer.
func (c canaryRun) call(method, path, body string) string {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.s.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		c.t.Errorf("%s %s: got %d %s (%v), want success", method, path, res.StatusCode, answer, err)
	}
	c.hay.search(method+" "+path, answer)
	for name, values := range res.Header {
		c.hay.search("the header "+name+" of "+path, []byte(strings.Join(values, " ")))
	}
	return string(answer)
}

// useModel stores the canary key, lets the server quote it in errors, and has a turn with it.
func (c canaryRun) useModel(id wire.SessionID) {
	c.t.Helper()
	pipeSecret(c.t, hubRun{invitation: c.s.url}, c.key, "set", "mine")
	pipeSecret(c.t, hubRun{invitation: c.s.url}, c.key, "set", "anthropicKey", "--scope", "hub")
	value, err := json.Marshal(c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	c.call(http.MethodPut, "/api/secrets/again", `{"value":`+string(value)+`}`)
	profile := `{"name":"Canary","backend":"anthropic","model":"fake","baseUrl":"` + c.address + `","secret":"mine"}`
	c.call(http.MethodPut, "/api/model-profiles/canary", profile)
	list := `{"baseUrl":"` + c.address + `","key":` + string(value) + `}`
	c.call(http.MethodPost, "/api/backends/anthropic/models", list)
	errors := canaryErrors(c.key)
	for _, failure := range errors {
		c.model.Next(failure)
		c.call(http.MethodPost, "/api/model-profiles/test", `{"profile":`+profile+`}`)
	}
	for i, failure := range errors {
		c.model.Next(failure)
		var before []wire.ClientPayload
		if i == 0 {
			before = append(before, wire.SetProvider{Provider: "canary"})
		}
		watch(c.t, client.Config{URL: c.s.url, Session: id}, fmt.Sprintf("/say failure %d", i), before...)
	}
	sent := len(c.model.Requests())
	watch(c.t, client.Config{URL: c.s.url, Session: id}, "/say the model answers")
	if all := c.model.Requests(); len(all) == sent || all[len(all)-1].Header.Get("X-Api-Key") != c.key {
		c.t.Error("the model server did not get the key, want it in the last request")
	}
}

// useAgent has turns of the agent, which fails with its key in the error once.
func (c canaryRun) useAgent(id wire.SessionID, home, key string) {
	c.t.Helper()
	watch(c.t, client.Config{URL: c.s.url, Session: id}, `/say "the agent answers"`, wire.SetProvider{Provider: "mine"})
	agents := agentPIDs(c.t, home)
	has := func(pid int) bool {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		return err == nil && bytes.Contains(env, []byte(key))
	}
	if len(agents) == 0 || !has(agents[0]) {
		c.t.Errorf("the agents %v have no key, want it in the environment", agents)
	}
	c.hay.searchProcesses(func(pid int) bool { return pid == c.s.cmd.Process.Pid || slices.Contains(agents, pid) })
	watch(c.t, client.Config{URL: c.s.url, Session: id}, "/fail key")
}

// readEverything requests everything that the hub serves about itself and the session.
func (c canaryRun) readEverything(id wire.SessionID) {
	c.t.Helper()
	here, there := "/api/sessions/"+string(id), "/api/admin/sessions/"+string(id)
	for _, path := range []string{
		"/api/secrets", "/api/secrets?scope=hub", "/api/settings", "/api/settings/values", "/api/settings/catalogue", "/api/model-profiles", "/api/backends",
		"/api/providers", "/api/hub", "/api/me", "/api/agents/stats", "/api/sessions", "/api/domains", "/api/remote-info", "/api/openapi.json",
		here, here + "/snapshot", here + "/events", here + "/rows", here + "/messages", here + "/tasks", here + "/transcript", here + "/mcp-tokens", here + "/links", here + "/files",
		"/api/admin/me", "/api/admin/audit", "/api/admin/audit/verify", "/api/admin/limits", "/api/admin/overview", "/api/admin/replicas", "/api/admin/sessions",
		there, there + "/events", "/metrics", "/healthz", "/readyz",
	} {
		c.call(http.MethodGet, path, "")
	}
	if rows := c.call(http.MethodGet, here+"/rows", ""); !strings.Contains(rows, "[key]") || !strings.Contains(rows, "the model answers") {
		c.t.Errorf("the rows are %s, want errors with [key] in place of the key, and the answer", rows)
	}
	file := filepath.Join(c.t.TempDir(), "session.zip")
	call(c.t, command.ExitOK, "export", string(id), "--server", c.s.url, "--out", file)
	packed, err := zip.OpenReader(file)
	if err != nil {
		c.t.Fatal(err)
	}
	defer packed.Close()
	for _, f := range packed.File {
		data, err := fs.ReadFile(packed, f.Name)
		if err != nil {
			c.t.Error(err)
		}
		c.hay.search("the export "+f.Name, data)
	}
	if audit := c.call(http.MethodGet, "/api/admin/audit", ""); !strings.Contains(audit, "secret.set") {
		c.t.Errorf("the audit is %s, want it to have secret.set", audit)
	}
}
