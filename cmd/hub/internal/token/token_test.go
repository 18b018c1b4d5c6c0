package token

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// settingsOf returns the settings of a hub with a file store.
func settingsOf(folder string) Settings {
	quiet := slog.New(slog.DiscardHandler)
	return Settings{
		Local: command.Local{Addr: "127.0.0.1:8080", Folder: folder}, Auth: auth.Config{Mode: auth.ModeToken}, Logger: quiet,
		Open: func(context.Context, *slog.Logger) (auth.Documents, func() error, error) {
			s, err := filestore.Open(folder, filestore.Config{Sync: filestore.SyncOff, Logger: quiet})
			if err != nil {
				return nil, nil, err
			}
			return s.Documents, s.Close, nil
		},
	}
}

// callToken runs hub token with the settings of a hub.
func callToken(t *testing.T, of Settings, environ []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return callTokenWithin(t.Context(), of, environ, args...)
}

func callTokenWithin(ctx context.Context, of Settings, environ []string, args ...string) (stdout, stderr string, err error) {
	var out, errs strings.Builder
	read := func(_ command.Call, args []string, wrong *command.UsageErrors) (Settings, []string) {
		var rest []string
		for _, arg := range args {
			if strings.HasPrefix(arg, "-") {
				wrong.Add("flag %s: no such setting", arg)
				continue
			}
			rest = append(rest, arg)
		}
		return of, rest
	}
	err = Command(read).Run(ctx, command.Call{Args: args, Environ: environ, Stdout: &out, Stderr: &errs})
	return out.String(), errs.String(), err
}

// oneSecret checks that stdout is exactly one line, which stderr does not contain, and returns it.
func oneSecret(t *testing.T, stdout, stderr string, err error) string {
	t.Helper()
	secret, rest, ok := strings.Cut(stdout, "\n")
	if err != nil || !ok || rest != "" || secret == "" || strings.Contains(stderr, secret) || !strings.HasPrefix(stderr, "hub: ") {
		t.Fatalf("got stdout %q, stderr %q, error %v, want one secret on stdout and a text without it on stderr", stdout, stderr, err)
	}
	return secret
}

// authorityOf opens the store of a folder and returns its authority. The store is closed by the
// function or at the end of the test.
func authorityOf(t *testing.T, folder string, cfg auth.Config) (*auth.Authority, func()) {
	t.Helper()
	s, err := filestore.Open(folder, filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, err := auth.New(t.Context(), cfg, s.Documents)
	if err != nil {
		t.Fatal(err)
	}
	return a, func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTokenSigned(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(strings.Repeat("s", 40)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _ := authorityOf(t, t.TempDir(), auth.Config{Mode: auth.ModeJWT, KeyFile: file, Issuer: "https://me", Audience: "desk"})
	settings := settingsOf(t.TempDir())
	settings.Auth = auth.Config{Mode: auth.ModeJWT, Issuer: "https://me", Audience: "desk"}
	environ := []string{"HUB_TOKEN=ignored"}
	out, errs, err := callToken(t, settings, environ, "--user", "ann", "--role=viewer", "--ttl", "5m", "--key-file", file)
	who, err := a.Bearer(t.Context(), oneSecret(t, out, errs, err))
	if err != nil || who.User != "ann" || who.Has(auth.RoleUser) || !who.Has(auth.RoleViewer) {
		t.Errorf("signed token: got %+v, error %v, want the viewer ann", who, err)
	}
	if left := time.Until(who.Expires); left > 5*time.Minute || left < 4*time.Minute {
		t.Errorf("validity: got %v, want 4 to 5 minutes", left)
	}
	settings.Auth.KeyFile = file
	out, errs, err = callToken(t, settings, environ)
	who, err = a.Bearer(t.Context(), oneSecret(t, out, errs, err))
	if err != nil || who.User != "local" || who.Has(auth.RoleAdmin) || !strings.Contains(errs, "local (user)") {
		t.Errorf("token without flags: got %+v, error %v, stderr %q, want local (user)", who, err, errs)
	}
}

func TestTokenURL(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	settings := settingsOf(folder)
	settings.Addr = "0.0.0.0:1234"
	out, errs, err := callToken(t, settings, nil, "url")
	secret, ok := strings.CutPrefix(oneSecret(t, out, errs, err), "http://127.0.0.1:1234/?token=")
	a, _ := authorityOf(t, folder, auth.Config{Mode: auth.ModeToken})
	if !ok || secret != a.InstallationToken() {
		t.Errorf("token url: got %q, want the address with the installation token", out)
	}
	// While a hub has the store open.
	_, _, err = callToken(t, settings, nil, "url")
	if err == nil || !strings.Contains(err.Error(), "its URL was printed when it started") {
		t.Errorf("token url while a hub runs: got error %v, want one that says where the URL was printed", err)
	}
	settings.Auth.Mode = auth.ModeNone
	out, _, err = callToken(t, settings, nil, "url")
	if err != nil || out != "http://127.0.0.1:1234\n" {
		t.Errorf("token url in mode none: got %q, error %v, want only the address", out, err)
	}
	settings.Auth.Mode = auth.ModeJWT
	if _, _, err = callToken(t, settings, nil, "url"); err == nil {
		t.Error("token url in mode jwt: got no error, want one")
	}
}

func TestTokenOfStore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	settings := settingsOf(folder)
	out, errs, err := callToken(t, settings, nil, "key", "--user", "ann", "--name", "build server", "--role", "viewer,user", "--ttl", "1h")
	key := oneSecret(t, out, errs, err)
	out, errs, err = callToken(t, settings, nil, "ticket", "--user", "bob", "--session", "ses-12345678")
	ticket := oneSecret(t, out, errs, err)
	out, _, err = callToken(t, settings, nil, "keys")
	id := strings.Split(key, "_")[1]
	if err != nil || strings.Count(out, "\n") != 2 || !strings.Contains(out, id) || !strings.Contains(out, "viewer,user") ||
		!strings.Contains(out, "build server") {
		t.Errorf("keys: got %s, error %v, want one: %s, build server, viewer,user", out, err, id)
	}
	a, closeStore := authorityOf(t, folder, auth.Config{Mode: auth.ModeToken})
	who, err := a.APIKey(t.Context(), key)
	if err != nil || who.User != "ann" || who.Expires.IsZero() {
		t.Errorf("identity of the key: got %+v, error %v, want ann with an end", who, err)
	}
	who, err = a.Ticket(t.Context(), ticket)
	if err != nil || who.User != "bob" || who.Session != "ses-12345678" || !who.Has(auth.RoleUser) {
		t.Errorf("identity of the ticket: got %+v, error %v, want the user bob in ses-12345678", who, err)
	}
	settings.Addr = "127.0.0.1:1"
	_, _, err = callToken(t, settings, nil, "revoke", id)
	if err == nil || !strings.Contains(err.Error(), "so http://127.0.0.1:1 was asked") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want the address that was asked", err)
	}
	closeStore()
	if out, errs, err = callToken(t, settings, nil, "revoke", key); err != nil || out != "" || strings.Contains(errs, key) {
		t.Errorf("revoke: got %q, %q, error %v, want no output with the key", out, errs, err)
	}
	if _, _, err = callToken(t, settings, nil, "revoke", id); err == nil || !strings.Contains(err.Error(), "no API key") {
		t.Errorf("second revoke: got error %v, want one that says %q", err, "no API key")
	}
}

// hubOf returns a server with the token API of a hub, for requests with a token that a accepts.
func hubOf(t *testing.T, a *auth.Authority) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	refuse := func(w http.ResponseWriter, status int, detail string) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(wire.Problem{Detail: detail})
	}
	handle := func(pattern string, do func(r *http.Request, in map[string]any) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if _, err := a.Bearer(r.Context(), token); err != nil {
				refuse(w, http.StatusUnauthorized, err.Error())
				return
			}
			var in map[string]any
			if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&in) != nil {
				refuse(w, http.StatusBadRequest, "bad body")
				return
			}
			out, err := do(r, in)
			if errors.Is(err, store.ErrNotFound) {
				refuse(w, http.StatusNotFound, "There is no such key.")
			} else if err != nil {
				refuse(w, http.StatusInternalServerError, err.Error())
			} else if out != nil {
				json.NewEncoder(w).Encode(out)
			}
		})
	}
	handle("POST /api/tokens/keys", func(r *http.Request, in map[string]any) (any, error) {
		who := auth.Identity{User: in["user"].(string), Expires: time.Now().Add(time.Duration(in["expires_in"].(float64)) * time.Second)}
		key, err := a.NewKey(r.Context(), who, in["name"].(string))
		return map[string]string{"key": key}, err
	})
	handle("POST /api/tokens/tickets", func(r *http.Request, in map[string]any) (any, error) {
		ticket, err := a.NewTicket(r.Context(), auth.Identity{User: in["user"].(string)}, wire.SessionID(in["session"].(string)))
		return map[string]string{"ticket": ticket}, err
	})
	handle("GET /api/tokens/keys", func(r *http.Request, _ map[string]any) (any, error) {
		page, err := a.Keys(r.Context(), r.URL.Query().Get("after"), 1)
		list := []map[string]any{}
		for _, k := range page.Items {
			list = append(list, map[string]any{"id": k.ID, "name": k.Name, "user": k.User, "roles": k.Roles, "createdAt": k.Created})
		}
		return map[string]any{"keys": list, "next": page.Next}, err
	})
	handle("DELETE /api/tokens/keys/{key}", func(r *http.Request, _ map[string]any) (any, error) {
		return nil, a.RevokeKey(r.Context(), r.PathValue("key"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestTokenOfRunningHub(t *testing.T) {
	t.Parallel()
	a, _ := authorityOf(t, t.TempDir(), auth.Config{Mode: auth.ModeToken})
	server := hubOf(t, a)
	url := server.URL + "/?token=" + a.InstallationToken() // as the hub prints it
	var ids []string
	for range 3 {
		out, errs, err := callToken(t, Settings{}, nil, "key", "--server", url, "--user", "ann", "--name", "n", "--ttl", "1h")
		key := oneSecret(t, out, errs, err)
		who, err := a.APIKey(t.Context(), key)
		if left := time.Until(who.Expires); err != nil || who.User != "ann" || left > time.Hour || left < 59*time.Minute {
			t.Errorf("identity of the key: got %+v, error %v, want ann for an hour", who, err)
		}
		ids = append(ids, strings.Split(key, "_")[1])
	}
	out, errs, err := callToken(t, Settings{}, []string{"HUB_TOKEN=" + a.InstallationToken()}, "ticket", "--server", server.URL, "--user", "local", "--session", "ses-12345678")
	who, err := a.Ticket(t.Context(), oneSecret(t, out, errs, err))
	if err != nil || who.User != "local" || who.Session != "ses-12345678" {
		t.Errorf("identity of the ticket: got %+v, error %v, want local in ses-12345678", who, err)
	}
	at := []string{"--server", server.URL, "--token", a.InstallationToken()}
	out, _, err = callToken(t, Settings{}, nil, append(at, "keys")...)
	for _, id := range ids {
		if err != nil || !strings.Contains(out, id) {
			t.Errorf("keys: got %s, error %v, want %s among them", out, err, id)
		}
	}
	if out, _, err = callToken(t, Settings{}, nil, append(at, "revoke", ids[0])...); err != nil || out != "" {
		t.Errorf("revoke: got %q, error %v, want neither", out, err)
	}
	if _, _, err = callToken(t, Settings{}, nil, append(at, "revoke", ids[0])...); err == nil || !strings.Contains(err.Error(), "There is no such key.") {
		t.Errorf("second revoke: got error %v, want one that says %q", err, "There is no such key.")
	}
	_, _, err = callToken(t, Settings{}, nil, "keys", "--server", server.URL)
	if err == nil || !strings.Contains(err.Error(), "--token") {
		t.Errorf("keys without a token: got error %v, want one that names --token", err)
	}
	const wrong = "not-the-token"
	_, _, err = callToken(t, Settings{}, nil, "keys", "--server", server.URL, "--token", wrong)
	if err == nil || strings.Contains(err.Error(), wrong) {
		t.Errorf("keys with a wrong token: got error %v, want one without the token", err)
	}
	server.Close()
	_, _, err = callToken(t, Settings{}, nil, append(at, "keys")...)
	if err == nil || strings.Contains(err.Error(), a.InstallationToken()) {
		t.Errorf("keys of a stopped hub: got error %v, want one without the token", err)
	}
}

// A token is not sent to the target of a redirect.
func TestTokenStaysWithItsHub(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.RedirectHandler("http://evil.example/", http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	_, _, err := callToken(t, Settings{}, nil, "keys", "--server", server.URL, "--token", "x")
	if err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("redirected request: got error %v, want status 307", err)
	}
}

func TestTokenMistakes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		args string
		want []string
	}{
		"no key":         {"", []string{"--key-file"}},
		"unknown verb":   {"mint", []string{`"mint"`}},
		"flags of other": {"url --user ann --ttl 1h", []string{"--user", "--ttl"}},
		"bad values":     {"key --role root --ttl soon", []string{"--role", "--ttl"}},
		"ttl of nothing": {"key --ttl 0", []string{"--ttl"}},
		"bad session":    {"ticket --session ../x", []string{"--session"}},
		"bad server":     {"keys --server ftp://x", []string{"--server"}},
		"token alone":    {"keys --token x", []string{"--server"}},
		"no id":          {"revoke", []string{"the id of an API key"}},
		"bad id":         {"revoke ..", []string{"the id of an API key"}},
		"too much":       {"keys a b", []string{`"a"`, `"b"`}},
		"no value":       {"key --user", []string{"--user: needs a value"}},
		"twice":          {"key --user a --user b", []string{"--user: given twice"}},
		"no setting":     {"keys --nothing", []string{"--nothing"}},
		"key of no user": {"key --role viewer", []string{"--user"}},
		"for no user":    {"ticket --session ses-12345678", []string{"--user"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := callToken(t, settingsOf(folder), nil, strings.Fields(c.args)...)
			if _, ok := errors.AsType[command.UsageErrors](err); !ok || out != "" {
				t.Fatalf("got %q, error %v, want only a usage error", out, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
		})
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder of the store after a mistake: got error %v, want %v", err, os.ErrNotExist)
	}
	_, _, err := callToken(t, settingsOf(folder), nil, "--key-file", folder)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("key file that does not exist: got error %v, want %v", err, os.ErrNotExist)
	}
	settings := settingsOf(folder)
	settings.Open = func(context.Context, *slog.Logger) (auth.Documents, func() error, error) {
		return nil, nil, errors.New("there is no Redis")
	}
	if _, _, err := callToken(t, settings, nil, "keys"); err == nil {
		t.Error("keys without Redis: got no error, want one")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = callTokenWithin(ended, Settings{}, nil, "keys", "--server", "http://127.0.0.1:1")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: got error %v, want %v", err, context.Canceled)
	}
}
