package history_test

import (
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
		"nothing":                        {"", history.Approve},
		"blanks":                         {" \n ", history.Approve},
		"allowed":                        {"git status", history.Approve},
		"any case":                       {"GIT status", history.Approve},
		"unknown":                        {"make", history.AskUser},
		"denied":                         {"rm x", history.Deny},
		"denied in any case":             {"RM x", history.Deny},
		"a word is whole":                {"gitk", history.AskUser},
		"a denied word is whole":         {"rmdir x", history.AskUser},
		"longer denial":                  {"git push origin", history.Deny},
		"longer denial, more blanks":     {"git   push", history.Deny},
		"not that denial":                {"git pushy", history.Approve},
		"two words":                      {"npm run test", history.Approve},
		"one word of two":                {"npm install", history.AskUser},
		"and":                            {"git status && rm x", history.Deny},
		"or":                             {"git status || rm x", history.Deny},
		"then":                           {"git status; rm x", history.Deny},
		"pipe":                           {"echo x | rm x", history.Deny},
		"background":                     {"echo x & rm x", history.Deny},
		"newline":                        {"echo x\nrm x", history.Deny},
		"carriage return":                {"echo x\r\nrm x", history.Deny},
		"all allowed":                    {"cd a && git status; ls | cat", history.Approve},
		"one unknown":                    {"cd a && make", history.AskUser},
		"substitution":                   {"echo $(rm x)", history.Deny},
		"unknown substitution":           {"echo $(whoami)", history.AskUser},
		"substitution in quotes":         {`echo "a $(rm x) b"`, history.Deny},
		"text in single quotes":          {`echo '$(rm x); rm x'`, history.Approve},
		"separators in quotes":           {`echo "a; rm x && b"`, history.Approve},
		"backticks":                      {"echo `rm x`", history.Deny},
		"backticks in quotes":            {"echo \"`rm x`\"", history.Deny},
		"backticks in backticks":         {"echo `echo \\`rm x\\``", history.Deny},
		"process substitution":           {"cat <(rm x)", history.Deny},
		"group":                          {"(rm x)", history.Deny},
		"group of what is allowed":       {"(cd a; git status)", history.Approve},
		"braces":                         {"{ rm x; }", history.Deny},
		"function":                       {"f() { rm x; }; f", history.Deny},
		"if":                             {"if git status; then rm x; fi", history.Deny},
		"if all is allowed":              {"if git status; then ls; fi", history.Approve},
		"while":                          {"while ls; do rm x; done", history.Deny},
		"not":                            {"! rm x", history.Deny},
		"files are no commands":          {"git log 2>&1 >out.txt", history.Approve},
		"all to a file":                  {"git log &> rm", history.Approve},
		"after a redirection":            {">out rm x", history.Deny},
		"after a redirection of both":    {"echo x &>f rm x", history.Deny},
		"quoted word":                    {`"rm" x`, history.Deny},
		"half quoted":                    {`r'm' x`, history.Deny},
		"escaped":                        {`r\m x`, history.Deny},
		"over two lines":                 {"r\\\nm x", history.Deny},
		"quoted second word":             {`git "push"`, history.Deny},
		"from its folder":                {"/bin/rm x", history.Deny},
		"with a variable set":            {"A=b rm x", history.Deny},
		"set variables are not approved": {"A=b git status", history.AskUser},
		"env":                            {"env A=b rm x", history.Deny},
		"xargs":                          {"ls | xargs -n 1 rm", history.Deny},
		"a shell":                        {`bash -c "ls; rm x"`, history.Deny},
		"eval":                           {`eval 'rm x'`, history.Deny},
		"find":                           {`find . -exec rm {} \;`, history.Deny},
		"a value as a command":           {"$x y", history.AskUser},
		"a value as a second word":       {"git $x", history.AskUser},
		"a value as a third word":        {"git log $x", history.Approve},
		"a pattern as a command":         {"/bin/r? x", history.AskUser},
		"braces make words":              {"{rm,x}", history.AskUser},
		"escapes as a command":           {`$'\x72m' x`, history.AskUser},
		"comment":                        {"git status # rm x", history.Deny},
		"harmless comment":               {"git status # look at it", history.Approve},
		"a quote in a comment":           {"echo a # it's\nrm x # it's", history.Deny},
		"here document":                  {"cat <<E\n'\nE\nrm x\ncat <<E\n'\nE", history.AskUser},
		"open quote":                     {"echo 'a", history.AskUser},
		"open parenthesis":               {"echo $(ls", history.AskUser},
		"closed too often":               {"echo a)", history.AskUser},
		"quotes in a value in quotes":    {`echo "${x:-"'"}"; rm y; echo "'""`, history.AskUser},
		"a zero byte":                    {"r\x00m x", history.AskUser},
		"array":                          {"files=(a b)", history.AskUser},
		"array that runs something":      {"files=($(rm x))", history.Deny},
		"prompt expansion":               {`echo "${v@P}"`, history.AskUser},
		"escape in a default":            {`echo ${x=\140rm\140}`, history.AskUser},
		"indirect":                       {"echo ${!v}", history.AskUser},
		"here string of a command":       {"cat <<<$(ls)", history.AskUser},
		"zsh substitution":               {"ls =(ls)", history.AskUser},
		"zsh qualifier":                  {"ls *(e:ls:)", history.AskUser},
		"arrow function":                 {`node -e "const f = (a) => a; f(1)"`, history.Approve},
		"arrow function in single":       {`node -e 'x=(a)=>({b:1})'`, history.Approve},
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
		"no rules":               {"ls", nil, nil, history.AskUser},
		"everything":             {"make all", []string{"*"}, nil, history.Approve},
		"everything but":         {"rm x", []string{"*"}, []string{"rm"}, history.Deny},
		"nothing":                {"ls", nil, []string{"*"}, history.Deny},
		"a tie is a denial":      {"ls", []string{"ls"}, []string{"ls"}, history.Deny},
		"both everything":        {"ls", []string{"*"}, []string{"*"}, history.Deny},
		"longer allowance":       {"git push origin", []string{"git push origin"}, []string{"git push"}, history.Approve},
		"longer denial":          {"git push origin", []string{"git"}, []string{"git push"}, history.Deny},
		"empty prefixes":         {"ls", []string{"", " "}, []string{""}, history.AskUser},
		"array is not dangerous": {"files=(a b)", []string{"*"}, nil, history.Approve},
		"a value, all allowed":   {"$x", []string{"*"}, nil, history.Approve},
		"a value, one denied":    {"$x", []string{"*"}, []string{"rm"}, history.AskUser},
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

func FuzzJudgeCommand(f *testing.F) {
	for _, line := range []string{"git status && rm x", "echo $(rm `x`)", `"${x:-"'"}"`, "a=(b c)", "$'\\x'", "<<<$(", "((", "\\", "${", "#'\n"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := history.JudgeCommand(line, []string{"*"}, []string{"rm"})
		for _, after := range []string{"\nrm x", "; rm x"} {
			// Whatever the line is, it is read to its end: then the command is seen, or
			// the line is one that nobody can read.
			if v := history.JudgeCommand(line+after, []string{"*"}, []string{"rm"}); got == history.Approve && v == history.Approve && !strings.ContainsAny(line, "#\\") {
				t.Errorf("%q is approved with %q behind it", line, after)
			}
		}
		if v := history.JudgeCommand("rm x; "+line, []string{"*"}, []string{"rm"}); v == history.Approve {
			t.Errorf("%q is approved behind rm", line)
		}
		if v := history.JudgeCommand(line, nil, nil); v == history.Deny {
			t.Errorf("%q is denied by nobody", line)
		}
	})
}
