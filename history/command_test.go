package history_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/history"
)

func TestJudgeCommand(t *testing.T) {
	t.Parallel()
	safe := []string{"git", "echo", "ls", "npm run", "node -e", "cat", "cd"}
	deny := []string{"rm", "git push", "sudo"}
	for name, test := range map[string]struct {
		line string
		want history.Verdict
	}{
		"nothing":                         {"", history.Approve},
		"blanks":                          {" \n ", history.Approve},
		"allowed":                         {"git status", history.Approve},
		"any case":                        {"GIT status", history.Approve},
		"unknown":                         {"make", history.AskUser},
		"denied":                          {"rm x", history.Deny},
		"denied in any case":              {"RM x", history.Deny},
		"a word is whole":                 {"gitk", history.AskUser},
		"a denied word is whole":          {"rmdir x", history.AskUser},
		"longer denial":                   {"git push origin", history.Deny},
		"longer denial, more blanks":      {"git   push", history.Deny},
		"not that denial":                 {"git pushy", history.Approve},
		"two words":                       {"npm run test", history.Approve},
		"one word of two":                 {"npm install", history.AskUser},
		"and":                             {"git status && rm x", history.Deny},
		"or":                              {"git status || rm x", history.Deny},
		"then":                            {"git status; rm x", history.Deny},
		"pipe":                            {"echo x | rm x", history.Deny},
		"background":                      {"echo x & rm x", history.Deny},
		"newline":                         {"echo x\nrm x", history.Deny},
		"carriage return":                 {"echo x\r\nrm x", history.Deny},
		"all allowed":                     {"cd a && git status; ls | cat", history.Approve},
		"one unknown":                     {"cd a && make", history.AskUser},
		"substitution":                    {"echo $(rm x)", history.Deny},
		"unknown substitution":            {"echo $(whoami)", history.AskUser},
		"substitution in quotes":          {`echo "a $(rm x) b"`, history.Deny},
		"text in single quotes":           {`echo '$(rm x); rm x'`, history.Approve},
		"separators in quotes":            {`echo "a; rm x && b"`, history.Approve},
		"backticks":                       {"echo `rm x`", history.Deny},
		"backticks in quotes":             {"echo \"`rm x`\"", history.Deny},
		"backticks in backticks":          {"echo `echo \\`rm x\\``", history.Deny},
		"process substitution":            {"cat <(rm x)", history.Deny},
		"group":                           {"(rm x)", history.Deny},
		"group of what is allowed":        {"(cd a; git status)", history.AskUser},
		"braces":                          {"{ rm x; }", history.Deny},
		"function":                        {"f() { rm x; }; f", history.Deny},
		"if":                              {"if git status; then rm x; fi", history.Deny},
		"if all is allowed":               {"if git status; then ls; fi", history.AskUser},
		"while":                           {"while ls; do rm x; done", history.Deny},
		"not":                             {"! rm x", history.Deny},
		"a file is written":               {"git log 2>&1 >out.txt", history.AskUser},
		"a file is read":                  {"cat <in.txt", history.AskUser},
		"all to a file":                   {"git log &> out", history.AskUser},
		"what a shell reads of its own":   {"echo x > ~/.bashrc", history.AskUser},
		"to nowhere":                      {"git log 2>/dev/null >> /dev/null 2>&1 </dev/null | cat", history.Approve},
		"all to nowhere":                  {"git log &>/dev/null && ls", history.Approve},
		"all to nowhere, and more":        {"git log &>/dev/null rm", history.Deny},
		"near nowhere":                    {"git log >/dev/nullx", history.AskUser},
		"below nowhere":                   {"git log >/dev/null/../sda", history.AskUser},
		"to a number that is a file":      {"git log >&1x", history.AskUser},
		"of a number that is none":        {"git log 12>/dev/null", history.AskUser},
		"after a redirection":             {">out rm x", history.Deny},
		"after a redirection of both":     {"echo x &>f rm x", history.Deny},
		"quoted word":                     {`"rm" x`, history.Deny},
		"half quoted":                     {`r'm' x`, history.Deny},
		"escaped":                         {`r\m x`, history.Deny},
		"over two lines":                  {"r\\\nm x", history.Deny},
		"quoted second word":              {`git "push"`, history.Deny},
		"from its folder":                 {"/bin/rm x", history.Deny},
		"with a variable set":             {"A=b rm x", history.Deny},
		"set variables are not approved":  {"A=b git status", history.AskUser},
		"env":                             {"env A=b rm x", history.Deny},
		"xargs":                           {"ls | xargs -n 1 rm", history.Deny},
		"a shell":                         {`bash -c "ls; rm x"`, history.Deny},
		"eval":                            {`eval 'rm x'`, history.Deny},
		"find":                            {`find . -exec rm {} \;`, history.Deny},
		"a value as a command":            {"$x y", history.AskUser},
		"a value as a second word":        {"git $x", history.AskUser},
		"a value as a third word":         {"git log $x", history.Approve},
		"a pattern as a command":          {"/bin/r? x", history.AskUser},
		"braces make words":               {"{rm,x}", history.Deny},
		"escapes as a command":            {`$'\x72m' x`, history.AskUser},
		"comment":                         {"git status # rm x", history.Deny},
		"harmless comment":                {"git status # look at it", history.AskUser},
		"no comment":                      {"git show a#b", history.Approve},
		"a quote in a comment":            {"echo a # it's\nrm x # it's", history.Deny},
		"here document":                   {"cat <<E\n'\nE\nrm x\ncat <<E\n'\nE", history.Deny},
		"open quote":                      {"echo 'a", history.AskUser},
		"open parenthesis":                {"echo $(ls", history.AskUser},
		"closed too often":                {"echo a)", history.AskUser},
		"quotes in a value in quotes":     {`echo "${x:-"'"}"; rm y; echo "'""`, history.Deny},
		"a zero byte":                     {"r\x00m x", history.AskUser},
		"array":                           {"files=(a b)", history.AskUser},
		"array that runs something":       {"files=($(rm x))", history.Deny},
		"prompt expansion":                {`echo "${v@P}"`, history.AskUser},
		"escape in a default":             {`echo ${x=\140rm\140}`, history.AskUser},
		"indirect":                        {"echo ${!v}", history.AskUser},
		"here string of a command":        {"cat <<<$(ls)", history.AskUser},
		"zsh substitution":                {"ls =(ls)", history.AskUser},
		"zsh qualifier":                   {"ls *(e:ls:)", history.AskUser},
		"function of an allowed name":     {"git () { make -k /; }; git status", history.AskUser},
		"coprocess of an allowed name":    {"coproc git { make -k /; }", history.AskUser},
		"no comment in a calculation":     {"((#)) || make -k /\n))", history.AskUser},
		"function, denied":                {"function x { rm y; }; x", history.Deny},
		"function of its name, denied":    {"git () { rm -rf /; }; git status", history.Deny},
		"coprocess, denied":               {"coproc x { rm y; }", history.Deny},
		"calculation, denied":             {"((#)) || rm -rf /\n))", history.Deny},
		"case, denied":                    {"case x in x) rm y;; esac", history.Deny},
		"loop, denied":                    {"for i in a; do rm $i; done", history.Deny},
		"substitution of what is allowed": {"echo $(ls)", history.AskUser},
		"calculation in brackets":         {"echo $[1]", history.AskUser},
		"value with a place":              {"echo $x[1]", history.AskUser},
		"value in braces":                 {"echo ${x}y \"${x}\"", history.Approve},
		"only a dollar":                   {`git grep "x$" '$(x)'`, history.Approve},
		"line before":                     {`echo "!x"`, history.AskUser},
		"exclamation":                     {`echo "x!"`, history.Approve},
		"over two lines in quotes":        {"echo \"a\\\nb\"", history.AskUser},
		"backslash at the end":            {"echo \\", history.AskUser},
		"unseen letter":                   {"git\u200b status", history.AskUser},
		"other blank":                     {"git status\u00a0x", history.AskUser},
		"no text":                         {"git \xff", history.AskUser},
		"arrow function":                  {`node -e "const f = (a) => a; f(1)"`, history.Approve},
		"arrow function in single":        {`node -e 'x=(a)=>({b:1})'`, history.Approve},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := history.JudgeCommand(test.line, safe, deny); got != test.want {
				t.Errorf("%q: got %s, want %s", test.line, got, test.want)
			}
		})
	}
}

func TestPrefixesOfCommands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line        string
		allow, deny []string
		want        history.Verdict
	}{
		"no rules":              {"ls", nil, nil, history.AskUser},
		"everything":            {"make all", []string{"*"}, nil, history.Approve},
		"everything but":        {"rm x", []string{"*"}, []string{"rm"}, history.Deny},
		"nothing":               {"ls", nil, []string{"*"}, history.Deny},
		"a tie is a denial":     {"ls", []string{"ls"}, []string{"ls"}, history.Deny},
		"both everything":       {"ls", []string{"*"}, []string{"*"}, history.Deny},
		"longer allowance":      {"git push origin", []string{"git push origin"}, []string{"git push"}, history.Approve},
		"longer denial":         {"git push origin", []string{"git"}, []string{"git push"}, history.Deny},
		"empty prefixes":        {"ls", []string{"", " "}, []string{""}, history.AskUser},
		"array":                 {"files=(a b)", []string{"*"}, nil, history.AskUser},
		"words may be none":     {"git $x log all", []string{"git"}, []string{"git log all"}, history.AskUser},
		"eval":                  {"eval 'ls'", []string{"*"}, nil, history.AskUser},
		"alias":                 {"alias x=rm; x y", []string{"*"}, []string{"rm"}, history.AskUser},
		"hidden eval":           {"command eval 'r''m x'", []string{"*"}, []string{"rm"}, history.Deny},
		"hidden shell":          {`sudo bash -c 'r""m x'`, []string{"*"}, []string{"rm"}, history.Deny},
		"hidden in a shell":     {`env sh -c '$(echo r)m x'`, []string{"*"}, []string{"rm"}, history.AskUser},
		"shell, nothing denied": {"bash build.sh", []string{"bash"}, nil, history.Approve},
		"shell, some denied":    {"bash build.sh", []string{"bash"}, []string{"rm"}, history.AskUser},
		"runner":                {"flock x rm y", []string{"*"}, []string{"rm"}, history.Deny},
		"runner of no denied":   {"sudo ls -l", []string{"*"}, []string{"rm"}, history.Approve},
		"place in a list":       {"printf -v 'a[$(make)]' x", []string{"printf"}, nil, history.AskUser},
		"place in a value":      {`test -v "$x"`, []string{"test"}, nil, history.AskUser},
		"variable, all allowed": {"A=b make", []string{"*"}, []string{"rm"}, history.Approve},
		"denied as an argument": {"git rm x", []string{"git"}, []string{"rm"}, history.Approve},
		"a number":              {"echo 2>/dev/null x", []string{"echo x"}, nil, history.Approve},
		"all denied, one group": {"(ls -l)", nil, []string{"*"}, history.Deny},
		"allowed in a group":    {"(git push origin)", []string{"git push origin"}, []string{"git push"}, history.AskUser},
		"a value, all allowed":  {"$x", []string{"*"}, nil, history.Approve},
		"a value, one denied":   {"$x", []string{"*"}, []string{"rm"}, history.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := history.JudgeCommand(test.line, test.allow, test.deny); got != test.want {
				t.Errorf("%q: got %s, want %s", test.line, got, test.want)
			}
		})
	}
}

// hide puts a denied command somewhere into a line, so that a shell still runs it.
func hide(t *rapid.T) string {
	spelled := rapid.SampledFrom([]string{"rm x", `"rm" x`, `'rm' x`, `r\m x`, `r""m x`, "/bin/rm x", "A=1 rm x", "RM", "rm", "r\\\nm x"}).Draw(t, "spelling")
	line := spelled
	for range rapid.IntRange(0, 4).Draw(t, "depth") {
		line = strings.ReplaceAll(rapid.SampledFrom([]string{
			"echo $(@)", "(@)", "{ @; }", "if @; then ls; fi", "ls && @", "ls || @", "@ | cat", "ls & @", "ls\n@", "cat <(@)",
			`echo "a $(@) b"`, "! @", "echo 'a;b' && @", "echo \"it's\" ; @", "echo \\' ; @ ; echo \\'", "ls 2>&1; @", "@ # it's",
			"echo a#'b' ; @", "time @", "echo ${x} ; @", "ls > f & @",
		}).Draw(t, "around"), "@", line)
	}
	return line
}

func TestNothingHidesWhatIsDenied(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := hide(t)
		allow := []string{"*", "echo", "ls", "cat"}
		if got := history.JudgeCommand(line, allow, []string{"rm"}); got == history.Approve {
			t.Fatalf("%q is approved", line)
		}
	})
}

// A line that is longer than people write is not read at all.
func TestLongCommandsAreAsked(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"a", "a ", "'a' ", "# a ", "`", "(", "$(", "sudo ", "a;"} {
		line := "git " + strings.Repeat(more, 5000)
		if got := history.JudgeCommand(line, []string{"*"}, []string{"rm"}); got != history.AskUser {
			t.Errorf("%q …: got %s", line[:20], got)
		}
	}
	if got := history.JudgeCommand("git "+strings.Repeat("a ", 2000), []string{"git"}, []string{"rm"}); got != history.Approve {
		t.Errorf("a line of 4,004 bytes: got %s", got)
	}
}

// What one costs grows with its length only: compare the sizes.
func BenchmarkJudgeCommand(b *testing.B) {
	for _, more := range []string{"sudo a ", "# a ", "'a' ", "`", "("} {
		for _, size := range []int{1000, 2000, 4000} {
			b.Run(fmt.Sprintf("%q/%d", more, size), func(b *testing.B) {
				line := strings.Repeat(more, size/len(more))
				b.ReportAllocs()
				for b.Loop() {
					history.JudgeCommand(line, []string{"sudo"}, []string{"rm"})
				}
			})
		}
	}
}

func FuzzJudgeCommand(f *testing.F) {
	for _, line := range []string{
		"git status && rm x", "echo $(rm `x`)", `"${x:-"'"}"`, "a=(b c)", "$'\\x'", "<<<$(", "((", "\\", "${", "#'\n", "git () { ", "coproc git { ",
		"((#)) || ", "a >/dev/null 2>&1 &", "A=1 ", `"\"`,
	} {
		f.Add(line)
	}
	judge := func(line string) history.Verdict { return history.JudgeCommand(line, []string{"*"}, []string{"rm"}) }
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 4000 {
			return // it is asked anyhow
		}
		got := judge(line)
		// Behind whatever, a command is seen or the line is one that nobody can read.
		for _, after := range []string{"\nrm x", ";rm x", "&&rm x", "|rm", "&rm", "\n'rm' x", ";A=1 rm", ";>/dev/null rm"} {
			switch v := judge(line + after); {
			case v == history.Approve:
				t.Errorf("%q is approved with %q behind it", line, after)
			case got == history.Approve && v != history.Deny:
				t.Errorf("%q is no denial with %q behind it, but %s", line, after, v)
			}
		}
		for _, before := range []string{"rm x; ", "rm x\n", "rm ", "sudo rm "} {
			if v := judge(before + line); v == history.Approve {
				t.Errorf("%q is approved behind %q", line, before)
			}
		}
		// What is not approved is not approved with more around it.
		if got != history.Approve {
			for _, around := range []string{"ls; @", "ls\n@", "@\nls", "@;ls", "@;ls 'x'"} {
				whole := strings.Replace(around, "@", line, 1)
				if v := judge(whole); v == history.Approve {
					t.Errorf("%q is not approved, but %q is", line, whole)
				}
			}
		}
		if v := history.JudgeCommand(line, nil, nil); v == history.Deny {
			t.Errorf("%q is denied by nobody", line)
		}
	})
}
