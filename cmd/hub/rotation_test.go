package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// rotation is two replicas with many secrets in one Redis, and a file of keys that they share.
type rotation struct {
	t       *testing.T
	docs    secrets.Documents
	path    string   // of the file
	changed sync.Map // the last values of secrets by name
	turns   int
}

// users is the number of owners of secrets besides the one whose turns run: enough for a rotation to be
// killed in the middle.
const users = 400

func masterKey(n int) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(n)}, 32))
}

// writeKeys replaces the file of keys in one step, as an operator does.
func (r *rotation) writeKeys(keys ...int) {
	r.t.Helper()
	var text strings.Builder
	for _, n := range keys {
		text.WriteString(masterKey(n) + "\n")
	}
	if err := os.WriteFile(r.path+".new", []byte(text.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(r.path+".new", r.path); err != nil {
		r.t.Fatal(err)
	}
}

// open returns the secrets with the keys of the file.
func (r *rotation) open() *secrets.Store {
	r.t.Helper()
	ring, err := secrets.ReadKeyFile(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	return secrets.New(r.docs, ring, func(context.Context, secrets.Owner, []string) {})
}

// keyIDs counts the stored secrets by the id of their key.
func (r *rotation) keyIDs() map[string]int {
	r.t.Helper()
	ids := map[string]int{}
	for _, collection := range []string{"secrets", "hub-secrets"} {
		for after := ""; ; {
			page, err := r.docs.Documents(r.t.Context(), collection, after, 100)
			if err != nil {
				r.t.Fatal(err)
			}
			for _, d := range page.Items {
				r.count(d, ids)
			}
			if after = page.Next; after == "" {
				break
			}
		}
	}
	return ids
}

func (r *rotation) count(d store.Document, ids map[string]int) {
	r.t.Helper()
	var all map[string]struct{ Key string }
	if err := json.Unmarshal(d.Data, &all); err != nil {
		r.t.Fatalf("document %s: %v", d.Name, err)
	}
	for _, s := range all {
		ids[s.Key]++
	}
}

// keyID returns the id of a master key.
func keyID(n int) string {
	sum := sha256.Sum256(append([]byte("everdesk key id\x00"), bytes.Repeat([]byte{byte(n)}, 32)...))
	return hex.EncodeToString(sum[:4])
}

// set sets a secret through a replica.
func (r *rotation) set(s *server, name, value string) bool {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPut, s.url+"/api/secrets/"+name, strings.NewReader(`{"value":"`+value+`"}`))
	if err != nil {
		r.t.Error(err)
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		r.t.Errorf("set %s: %v", name, err)
		return false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		answer, _ := io.ReadAll(res.Body) // it is only printed
		r.t.Errorf("set %s: got %d %s, want %d", name, res.StatusCode, answer, http.StatusNoContent)
	}
	return res.StatusCode == http.StatusNoContent
}

// turn has a turn in a new session, which reads the key of the model.
func (r *rotation) turn(s *server) wire.AgentResponse {
	r.t.Helper()
	return watch(r.t, client.Config{URL: s.url, Session: createSession(r.t, s.url)}, "/say hello", wire.SetProvider{Provider: "mine"})
}

// under runs do while turns use a secret, and users change it and others through these replicas. All of
// that must succeed.
func (r *rotation) under(do func(), replicas ...*server) {
	r.t.Helper()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for i, s := range replicas {
		name := fmt.Sprintf("changed-%d", i)
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				value := fmt.Sprintf("%s is %d", name, n)
				if !r.set(s, name, value) || !r.set(s, "key", modelKeyOfRotation) {
					return
				}
				r.changed.Store(name, value)
			}
		})
	}
	wg.Go(func() {
		defer close(done)
		do()
	})
	for n := 0; ; n++ {
		if end := r.turn(replicas[n%len(replicas)]); end.Outcome != wire.OutcomeCompleted {
			r.t.Errorf("a turn ends as %s: %s, want it completed", end.Outcome, end.Reason)
		}
		r.turns++
		select {
		case <-done:
			if n >= len(replicas) {
				wg.Wait()
				return
			}
		default:
		}
	}
}

// rotate runs `hub secrets rotate` and returns whether it succeeded.
func (r *rotation) rotate(s *server) bool {
	var out, complaint strings.Builder
	code := run(r.t.Context(), []string{"secrets", "rotate", "--server", s.url}, nil, &out, &complaint)
	r.t.Logf("rotate: %d %s%s", code, out.String(), complaint.String())
	return code == command.ExitOK
}

// killInRotation kills the replica that rotates when it has encrypted some of the secrets, and reports
// whether others were left.
func (r *rotation) killInRotation(s *server, id string) bool {
	var wg sync.WaitGroup
	wg.Go(func() { r.rotate(s) })
	for {
		middle, err := r.docs.Get(r.t.Context(), "secrets", "user-100")
		if err != nil {
			r.t.Error(err)
			break
		}
		ids := map[string]int{}
		r.count(middle, ids)
		if ids[id] > 0 {
			break
		}
	}
	s.kill()
	wg.Wait()
	ids := r.keyIDs()
	r.t.Logf("killed in the rotation to %s: %v", id, ids)
	return len(ids) > 1
}

const modelKeyOfRotation = "sk-key-of-the-model-0815"

// On two replicas keys are rotated while turns use secrets and users change them, also by a process that
// is killed. Nothing fails because of it, no secret is lost, and the old keys can be removed.
func TestRotationOnTwoReplicas(t *testing.T) {
	t.Parallel()
	redis := redistest.Standalone(t)
	docs, err := redisstore.Open(t.Context(), redis.Client(t), redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docs.Close() })
	model := fakemodel.New()
	model.Key = modelKeyOfRotation
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	r := &rotation{t: t, docs: docs.Documents, path: filepath.Join(t.TempDir(), "keys")}
	serve := func(path string) *server {
		return serveProcess(t, testProviders(t)[0], "--store", redis.URL(), "--secret-key-file", path, "--lease", "2s",
			"--files-dir", t.TempDir(), "--provider-hosts", strings.TrimPrefix(url, "http://"))
	}
	master := 1
	r.writeKeys(master)
	a, b := serve(r.path), serve(r.path)
	mine := r.open()
	for u := range users {
		if err := mine.Set(t.Context(), secrets.Owner{User: fmt.Sprintf("user-%03d", u)}, "own", secrets.NewValue(fmt.Sprintf("of user %d", u))); err != nil {
			t.Fatal(err)
		}
	}
	if !r.set(a, "key", modelKeyOfRotation) {
		t.FailNow()
	}
	local := visitor{t, a.url, http.Header{}}
	local.do(http.MethodPut, "/api/model-profiles/mine", `{"name":"Mine","backend":"anthropic","model":"m","baseUrl":"`+url+`","secret":"key"}`, http.StatusOK, nil)

	// A whole rotation.
	r.under(func() {
		r.writeKeys(2, 1)
		if !r.rotate(a) {
			t.Error("the first rotation failed")
		}
	}, a, b)
	if ids := r.keyIDs(); len(ids) != 1 || ids[keyID(2)] == 0 {
		t.Errorf("after a rotation under load the keys of the secrets are %v, want only %s", ids, keyID(2))
	}
	// Rotations whose process is killed.
	for master = 3; master < 20; master++ {
		interrupted := false
		r.under(func() {
			r.writeKeys(master, master-1)
			interrupted = r.killInRotation(a, keyID(master))
		}, b)
		a.again(t)
		if interrupted {
			break
		}
	}
	r.under(func() {
		if !r.rotate(b) {
			t.Error("the rotation after the kill failed")
		}
	}, a, b)
	if ids := r.keyIDs(); len(ids) != 1 || ids[keyID(master)] == 0 {
		t.Errorf("after the last rotation the keys of the secrets are %v, want only %s", ids, keyID(master))
	}
	// The old key is removed.
	r.writeKeys(master)
	c := serve(r.path)
	for _, s := range []*server{a, b, c} {
		if end := r.turn(s); end.Outcome != wire.OutcomeCompleted {
			t.Errorf("without the old key a turn ends as %s: %s, want it completed", end.Outcome, end.Reason)
		}
	}
	r.checkValues()
	r.checkWrongKey(c, serve)
	t.Logf("%d turns and %d requests of the model", r.turns, len(model.Requests()))
}

// checkValues checks that all secrets have their last values.
func (r *rotation) checkValues() {
	r.t.Helper()
	last := r.open()
	check := func(of, name, want string) {
		r.t.Helper()
		if v, err := last.Reveal(r.t.Context(), secrets.Owner{User: of}, name); err != nil || v.Reveal() != want {
			r.t.Errorf("the secret %s of %s is %q, %v, want %q", name, of, v.Reveal(), err, want)
		}
	}
	for u := range users {
		check(fmt.Sprintf("user-%03d", u), "own", fmt.Sprintf("of user %d", u))
	}
	r.changed.Range(func(name, value any) bool {
		check("local", name.(string), value.(string))
		return true
	})
}

// checkWrongKey checks that with another key sessions run, and that secrets are reported as unreadable.
func (r *rotation) checkWrongKey(right *server, serve func(path string) *server) {
	r.t.Helper()
	right.kill()
	path := filepath.Join(r.t.TempDir(), "other")
	if err := os.WriteFile(path, []byte(masterKey(99)), 0o600); err != nil {
		r.t.Fatal(err)
	}
	s := serve(path)
	id := createSession(r.t, s.url)
	if end := watch(r.t, client.Config{URL: s.url, Session: id}, "/say still here"); end.Outcome != wire.OutcomeCompleted {
		r.t.Errorf("with another key a turn of the demo ends as %s: %s, want it completed", end.Outcome, end.Reason)
	}
	end := watch(r.t, client.Config{URL: s.url, Session: id}, "/say hello", wire.SetProvider{Provider: "mine"})
	if want := "the secret cannot be read"; end.Outcome != wire.OutcomeFailed || !strings.Contains(end.Reason, want) {
		r.t.Errorf("with another key a turn of the model ends as %s: %q, want it failed because %s", end.Outcome, end.Reason, want)
	}
	if out, _ := call(r.t, command.ExitOK, "secrets", "--server", s.url); !strings.Contains(out, "cannot be read: the hub does not have the key") {
		r.t.Errorf("with another key the list is %q, want that secrets cannot be read", out)
	}
	if !r.set(s, "key", modelKeyOfRotation) {
		return
	}
	if end := watch(r.t, client.Config{URL: s.url, Session: id}, "/say hello"); end.Outcome != wire.OutcomeCompleted {
		r.t.Errorf("after setting it again a turn ends as %s: %s, want it completed", end.Outcome, end.Reason)
	}
}
