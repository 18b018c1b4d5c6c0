package claude

import (
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

func TestProcessIsSafe(t *testing.T) {
	t.Parallel()
	cfg := Config{Path: "/opt/claude", Home: "/data/claude", Key: "canary", URL: "http://127.0.0.1:1", Model: "a-model"}
	with := providers.Spec{System: "secret memory", Call: nil}
	pc, id := cfg.process(agent.Opening{Spec: with, Dir: "/work/one"})
	args := strings.Join(pc.Args, " ")
	if strings.Contains(args, "canary") || strings.Contains(args, "secret memory") || strings.Contains(args, "dangerously") {
		t.Errorf("the arguments are %s, want no secret and no bypass of permissions", args)
	}
	if !slices.Contains(pc.Env, "ANTHROPIC_API_KEY=canary") || !slices.Contains(pc.Secrets, "canary") || pc.Dir != "/work/one" {
		t.Errorf("the environment is %q in %s, want the key, known as a secret", pc.Env, pc.Dir)
	}
	if i := slices.Index(pc.Args, "--tools"); i < 0 || pc.Args[i+1] != "" {
		t.Errorf("a session without tools has the arguments %q, want none of the program's tools", pc.Args)
	}
	if i := slices.Index(pc.Args, "--session-id"); i < 0 || pc.Args[i+1] != id {
		t.Errorf("the arguments are %q, want the session %s", pc.Args, id)
	}
	if pc, again := cfg.process(agent.Opening{Resume: id}); again != id || !slices.Contains(pc.Args, "--resume") || slices.Contains(pc.Args, "--fork-session") {
		t.Errorf("a resumed session has the id %s and the arguments %q, want the same id and --resume", again, pc.Args)
	}
	if pc, fork := cfg.process(agent.Opening{Resume: id, Fork: true}); fork == id || !slices.Contains(pc.Args, "--fork-session") {
		t.Errorf("a fork has the id %s and the arguments %q, want a new id and --fork-session", fork, pc.Args)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, fine := range map[string]bool{
		"2.1.325": true, "2.1.268": true, "2.2.0": true, "3.0.1": true, "2.1.267": false, "2.0.999": false, "1.9.9": false, "": true, "next": true,
	} {
		if err := checkVersion(version); (err == nil) != fine {
			t.Errorf("version %q: got error %v, want fine: %v", version, err, fine)
		}
	}
}
