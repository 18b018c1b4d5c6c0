package mcpclient_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
)

// A program of the operator gets the variables of the file that its entry names, and those of the entry before them.
func TestProgramsGetTheVariablesOfTheirFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.env")
	s := program("test")
	s.EnvFile, s.Env = filepath.Dir(file)+"/${NAME:-a}.env", map[string]string{"PLAIN": "of the entry"}
	b := setUp(t, []mcpclient.Server{s}, nil)
	if err := os.WriteFile(file, []byte("\ufeff# keys\r\n\nexport TOKEN = 's3cret value'\nPLAIN=of the file\nQUOTED=\"a \\\"b\\\"\\n# c\" # d\nBARE=x#y # z\nEMPTY=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := b.must(ann, "test", "env", `{}`)
	for _, want := range []string{"PLAIN=of the entry", "QUOTED=a \"b\"\n# c", "BARE=x#y\n", "EMPTY="} {
		if !strings.Contains(got+"\n", want) {
			t.Errorf("the environment is\n%s\nwant %q in it", got, want)
		}
	}
	if !strings.Contains(got, "TOKEN=s3cret value") {
		t.Errorf("the environment is\n%s\nwant the value in quotes", got)
	}
}

func TestBadFilesOfVariablesNameTheField(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct{ content, path, want string }{
		"missing":    {path: filepath.Join(dir, "none.env"), want: "there is no such file"},
		"a folder":   {path: dir, want: "there is no such file"},
		"relative":   {path: "a.env", want: "want an absolute path"},
		"no value":   {content: "A=1\nhunter2\n", want: "line 2: want NAME=value"},
		"no name":    {content: "=hunter2", want: "line 1"},
		"open quote": {content: `A="hunter2`, want: "line 1"},
		"a zero":     {content: "A=hunter2\x00", want: "line 1"},
		"too large":  {content: strings.Repeat("#", 300<<10), want: "bytes"},
		"too many":   {content: manyVariables(), want: "more than 256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := program("test")
			if s.EnvFile = tt.path; tt.path == "" {
				s.EnvFile = filepath.Join(t.TempDir(), "x.env")
				if err := os.WriteFile(s.EnvFile, []byte(tt.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b := setUp(t, []mcpclient.Server{s}, nil)
			_, err := b.call(ann, "test", "env", `{}`)
			if err == nil || !strings.Contains(err.Error(), "envFile: ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got the error %v, want envFile and %q without a value", err, tt.want)
			}
		})
	}
}

func manyVariables() string {
	var b strings.Builder
	for i := range 300 {
		b.WriteString("A" + strings.Repeat("B", i) + "=1\n")
	}
	return b.String()
}

// A user cannot make the hub read a file.
func TestUsersCannotNameAFileOfVariables(t *testing.T) {
	t.Parallel()
	b := setUp(t, nil, nil)
	s := program("own")
	s.EnvFile = "/etc/hub.env"
	_, err := b.Store().Put(t.Context(), "ann", []mcpclient.Server{s}, nil)
	if f, ok := errors.AsType[*mcpclient.FieldError](err); !ok || f.Field != "own.envFile" {
		t.Errorf("got %v, want a FieldError of own.envFile", err)
	}
}
