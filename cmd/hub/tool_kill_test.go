package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// hangingSite is a web site that never answers the first request for /slow and counts all of them.
type hangingSite struct {
	*httptest.Server
	mu   sync.Mutex
	slow []string // the methods of requests for /slow
	came chan struct{}
}

func newHangingSite(t *testing.T) *hangingSite {
	t.Helper()
	s := &hangingSite{came: make(chan struct{}, 10)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first := false
		if r.URL.Path == "/slow" {
			s.mu.Lock()
			s.slow = append(s.slow, r.Method)
			first = len(s.slow) == 1
			s.mu.Unlock()
			s.came <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not noticed
		if first {
			<-r.Context().Done() // until the hub is killed
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<title>Site</title><a href="/slow">Go</a><p>answered</p>`)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *hangingSite) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.slow)
}

// killRound is a hub that is killed in a tool.
type killRound struct {
	*server
	site *hangingSite
	x    *terminal
	base string // the URL of the session
	temp string // the folder of temporary files of the hub
}

// killCase is a kind of tool and how the hub is killed in it.
type killCase struct {
	tool string
	say  string // SITE is the address of the site, SANDBOX one with an app
	// until returns when the tool has begun.
	until func(t *testing.T, r *killRound)
	// after, unless nil, does what the turn needs to go on after the restart.
	after func(t *testing.T, r *killRound)
	// uncertain says that the tool must not run again: the conversation says that it may or may not have run. Otherwise
	// the tool is run again and the turn goes on.
	uncertain bool
	// check looks at the effects.
	check func(t *testing.T, r *killRound)
}

// hasBegun waits until the terminal shows the tool of a case.
func hasBegun(tool string) func(*testing.T, *killRound) {
	return func(t *testing.T, r *killRound) {
		t.Helper()
		r.x.until(t, `: uses `+tool+` `)
	}
}

// requested waits until the site has got the slow request.
func requested(t *testing.T, r *killRound) {
	t.Helper()
	<-r.site.came
}

// requestedTimes checks how often the slow page was requested.
func requestedTimes(want int) func(*testing.T, *killRound) {
	return func(t *testing.T, r *killRound) {
		t.Helper()
		if got := r.site.requests(); got != want {
			t.Errorf("the site got %d requests, want %d", got, want)
		}
	}
}

// nothing checks no effects.
func nothing(*testing.T, *killRound) {}

// get decodes a response of the hub.
func (r *killRound) get(t *testing.T, path string, into any) {
	t.Helper()
	visitor{t, r.url, http.Header{}}.do(http.MethodGet, path, "", http.StatusOK, into)
}

// installed returns how many apps the user has.
func (r *killRound) installed(t *testing.T) int {
	t.Helper()
	var list struct{ Apps []struct{ ID string } }
	r.get(t, "/api/apps", &list)
	return len(list.Apps)
}

// processes returns the processes whose command line has a text.
func processes(t *testing.T, text string) (all []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if line, err := os.ReadFile(name); err == nil && strings.Contains(string(line), text) {
			if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name))); isRunning(pid) {
				all = append(all, pid)
			}
		}
	}
	return all
}

// A hub that is killed between the beginning and the end of a tool: for each kind of tool the next hub reports that the
// tool may or may not have run and does not run it again, or, if the tool may run twice, goes on with the turn.
func TestKilledInEachKindOfTool(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]killCase{
		"request that sends": {
			tool: "system:http_post", say: `/task web /call system_http_post {"url":"SITE/slow","body":"{}"}`,
			until: requested, uncertain: true, check: requestedTimes(1),
		},
		"request that reads": {
			tool: "system:http_get", say: `/task web /call system_http_get {"url":"SITE/slow"}`, until: requested, check: requestedTimes(2),
		},
		"script": {
			tool: "system:run_js", say: `/task code /call system_run_js {"code":"for(;;);","timeout":2000}`,
			until: hasBegun("system:run_js"), check: nothing,
		},
		"page in the browser": {
			tool: "browser:open", say: `/task web /call browser_open {"url":"SITE/slow"}`, until: requested,
			check: func(t *testing.T, r *killRound) {
				t.Helper()
				requestedTimes(2)(t, r)
				eventually(t, func() (string, bool) {
					// Chromium of the second hub has a folder of its own.
					folders, _ := filepath.Glob(filepath.Join(r.temp, "*"))
					running := 0
					for _, f := range folders {
						if len(processes(t, f)) > 0 {
							running++
						}
					}
					return fmt.Sprintf("%d browsers run", running), running <= 1
				})
			},
		},
		"click in the browser": {
			tool: "browser:click", say: `/task web /call browser_open {"url":"SITE/"}; /call browser_click {"text":"Go"}`,
			until: requested, uncertain: true, check: requestedTimes(1),
		},
		"question": {
			tool: "user:ask", say: `/call user_ask {"title":"T","message":"M","options":["tea","coffee"]}`,
			until: func(t *testing.T, r *killRound) {
				t.Helper()
				r.x.until(t, `\? T: M `)
			},
			after: func(t *testing.T, r *killRound) {
				t.Helper()
				r.x.until(t, `main: uses user:ask `)
				r.x.say(t, ":answer tea") // the question is still open
			},
			check: nothing,
		},
		"compiler": {
			tool: "dev:deploy", say: `/task app /call dev_deploy {"sandbox":"SANDBOX","appId":"mine"}`, until: hasBegun("dev:deploy"),
			check: func(t *testing.T, r *killRound) {
				t.Helper()
				if n := r.installed(t); n != 1 {
					t.Errorf("the user has %d apps, want the deployed one", n)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newKillRound(t)
			sandbox := ""
			if strings.Contains(tt.say, "SANDBOX") {
				r.x.say(t, `/task app /call dev_write_ts {"path":"src/main.ts","content":"document.title = 'x'"}`)
				sandbox = r.x.until(t, `of sandbox (\d+)`)[0]
				r.x.until(t, `main: done in `)
			}
			r.x.say(t, strings.NewReplacer("SITE", r.site.URL, "SANDBOX", sandbox).Replace(tt.say))
			tt.until(t, r)
			r.kill()
			r.again(t)
			if tt.after != nil {
				tt.after(t, r)
			}
			if tt.uncertain {
				r.x.until(t, `: interrupted after .*: tool `+tt.tool+` may or may not have run$`)
			} else {
				r.x.until(t, `: `+tt.tool+` (is done|did not work)`)
			}
			r.x.until(t, `main: done in `)
			tt.check(t, r)
		})
	}
}

func newKillRound(t *testing.T) *killRound {
	t.Helper()
	r := &killRound{site: newHangingSite(t), temp: t.TempDir()}
	t.Cleanup(func() { // after the hub: its browsers end a moment later, and write until then
		eventually(t, func() (string, bool) {
			running := processes(t, r.temp)
			return fmt.Sprintf("processes %v with files in the temporary folder", running), len(running) == 0 && os.RemoveAll(r.temp) == nil
		})
	})
	demo := testProviders(t)[0]
	demo.env = append(demo.env, "TMPDIR="+r.temp)
	r.server = serveProcess(t, demo, "--lease", "2s", "--files-dir", t.TempDir(), "--web-hosts", "127.0.0.1", "--browser-sandbox", "off", "--titles", "off")
	visitor{t, r.url, http.Header{}}.do(http.MethodPatch, "/api/domains", `{"allow":["127.0.0.1"]}`, http.StatusOK, nil)
	var id wire.SessionID
	id, r.x = openSession(t, r.server)
	r.base = "/api/sessions/" + string(id)
	return r
}

// Tools that end within a moment cannot be stopped in the middle, so the hub is killed as soon as they are seen. Whenever
// that is, the effect is there once or not at all, and the conversation does not claim what is not so.
func TestKilledInShortTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool, call string
		profile    string // of the task; empty for the main agent
		// before is a call that makes what the tool deletes, and asks what the user is asked before the tool.
		before, asks string
		// effects returns how often the effect is there.
		effects func(t *testing.T, r *killRound) int
	}{
		"file": {
			tool: "storage:write", call: `storage_write {"path":"a.txt","content":"text"}`, profile: "default",
			effects: func(t *testing.T, r *killRound) int {
				t.Helper()
				var list struct{ Files []struct{ Path string } }
				r.get(t, r.base+"/files", &list)
				return len(list.Files)
			},
		},
		"shortcut": {
			tool: "system:create_shortcut", call: `system_create_shortcut {"label":"News","icon":"N","type":"action","target":"news"}`,
			effects: func(t *testing.T, r *killRound) int {
				t.Helper()
				var s struct{ Shortcuts []json.RawMessage }
				r.get(t, r.base+"/snapshot", &s)
				return len(s.Shortcuts)
			},
		},
		"memory": {
			tool: "system:memorize", call: `system_memorize {"content":"likes tea"}`,
			effects: func(t *testing.T, r *killRound) int {
				t.Helper()
				r.x.say(t, `/call system_list_memories {}`)
				found := r.x.until(t, `system:list_memories is done: (.*)`)[0]
				r.x.until(t, `main: done in `)
				return strings.Count(found, "likes tea")
			},
		},
		"app": {
			tool: "apps:market_get", call: `apps_market_get {"appId":"counter"}`, profile: "app",
			effects: func(t *testing.T, r *killRound) int {
				t.Helper()
				return r.installed(t)
			},
		},
		"deletion of a file": {
			tool: "storage:delete", call: `storage_delete {"path":"a.txt"}`, profile: "default", before: `storage_write {"path":"a.txt","content":"text"}`,
			effects: func(t *testing.T, r *killRound) int {
				t.Helper()
				var list struct{ Files []struct{ Path string } }
				r.get(t, r.base+"/files", &list)
				return 1 - len(list.Files)
			},
		},
		"deletion of an app": {
			tool: "apps:market_delete", call: `apps_market_delete {"appId":"counter"}`, profile: "app", before: `apps_market_get {"appId":"counter"}`, asks: `\? Delete an app\?`,
			effects: func(t *testing.T, r *killRound) int {
				t.Helper()
				return 1 - r.installed(t)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newKillRound(t)
			say := func(call string) {
				t.Helper()
				call = "/call " + call
				if tt.profile != "" {
					call = "/task " + tt.profile + " " + call
				}
				r.x.say(t, call)
			}
			if tt.before != "" {
				say(tt.before)
				r.x.until(t, `main: done in `)
			}
			say(tt.call)
			if tt.asks != "" {
				r.x.until(t, tt.asks)
				r.x.say(t, ":yes")
			}
			r.x.until(t, `(: uses `+tt.tool+` |: `+tt.tool+` is done|→ main \(direct\)$)`)
			r.kill()
			r.again(t)
			end := r.x.until(t, `(main: done in |The turn was cut off: .* Go on\?)`)[0]
			shown := strings.Join(r.x.seen, "\n")
			done, uncertain := strings.Contains(shown, tt.tool+" is done"), strings.Contains(shown, "tool "+tt.tool+" may or may not have run")
			if strings.HasPrefix(end, "The turn") {
				r.x.say(t, ":no")
			}
			got := tt.effects(t, r)
			if !done && !uncertain || done && got != 1 || got > 1 {
				t.Errorf("the effect is there %d times; the conversation says done: %v, uncertain: %v", got, done, uncertain)
			}
		})
	}
}
