package approval_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/approval"
)

func TestJudgeCommand(t *testing.T) {
	t.Parallel()
	safe := []string{"git", "echo", "ls", "npm run", "node -e", "cat", "cd"}
	deny := []string{"rm", "git push", "sudo"}
	for name, test := range map[string]struct {
		line string
		want approval.Verdict
	}{
		"nothing":                         {"", approval.Approve},
		"blanks":                          {" \n ", approval.Approve},
		"allowed":                         {"git status", approval.Approve},
		"any case":                        {"GIT status", approval.Approve},
		"unknown":                         {"make", approval.AskUser},
		"denied":                          {"rm x", approval.Deny},
		"denied in any case":              {"RM x", approval.Deny},
		"a word is whole":                 {"gitk", approval.AskUser},
		"a denied word is whole":          {"rmdir x", approval.AskUser},
		"longer denial":                   {"git push origin", approval.Deny},
		"longer denial, more blanks":      {"git   push", approval.Deny},
		"not that denial":                 {"git pushy", approval.Approve},
		"two words":                       {"npm run test", approval.Approve},
		"one word of two":                 {"npm install", approval.AskUser},
		"and":                             {"git status && rm x", approval.Deny},
		"or":                              {"git status || rm x", approval.Deny},
		"then":                            {"git status; rm x", approval.Deny},
		"pipe":                            {"echo x | rm x", approval.Deny},
		"background":                      {"echo x & rm x", approval.Deny},
		"newline":                         {"echo x\nrm x", approval.Deny},
		"carriage return":                 {"echo x\r\nrm x", approval.Deny},
		"all allowed":                     {"cd a && git status; ls | cat", approval.Approve},
		"one unknown":                     {"cd a && make", approval.AskUser},
		"substitution":                    {"echo $(rm x)", approval.Deny},
		"unknown substitution":            {"echo $(whoami)", approval.AskUser},
		"substitution in quotes":          {`echo "a $(rm x) b"`, approval.Deny},
		"text in single quotes":           {`echo '$(rm x); rm x'`, approval.Approve},
		"separators in quotes":            {`echo "a; rm x && b"`, approval.Approve},
		"backticks":                       {"echo `rm x`", approval.Deny},
		"backticks in quotes":             {"echo \"`rm x`\"", approval.Deny},
		"backticks in backticks":          {"echo `echo \\`rm x\\``", approval.Deny},
		"process substitution":            {"cat <(rm x)", approval.Deny},
		"group":                           {"(rm x)", approval.Deny},
		"group of what is allowed":        {"(cd a; git status)", approval.AskUser},
		"braces":                          {"{ rm x; }", approval.Deny},
		"function":                        {"f() { rm x; }; f", approval.Deny},
		"if":                              {"if git status; then rm x; fi", approval.Deny},
		"if all is allowed":               {"if git status; then ls; fi", approval.AskUser},
		"while":                           {"while ls; do rm x; done", approval.Deny},
		"not":                             {"! rm x", approval.Deny},
		"a file is written":               {"git log 2>&1 >out.txt", approval.AskUser},
		"a file is read":                  {"cat <in.txt", approval.AskUser},
		"all to a file":                   {"git log &> out", approval.AskUser},
		"what a shell reads of its own":   {"echo x > ~/.bashrc", approval.AskUser},
		"to nowhere":                      {"git log 2>/dev/null >> /dev/null 2>&1 </dev/null | cat", approval.Approve},
		"all to nowhere":                  {"git log &>/dev/null && ls", approval.Approve},
		"all to nowhere, and more":        {"git log &>/dev/null rm", approval.Deny},
		"near nowhere":                    {"git log >/dev/nullx", approval.AskUser},
		"below nowhere":                   {"git log >/dev/null/../sda", approval.AskUser},
		"to a number that is a file":      {"git log >&1x", approval.AskUser},
		"of a number that is none":        {"git log 12>/dev/null", approval.AskUser},
		"after a redirection":             {">out rm x", approval.Deny},
		"after a redirection of both":     {"echo x &>f rm x", approval.Deny},
		"quoted word":                     {`"rm" x`, approval.Deny},
		"half quoted":                     {`r'm' x`, approval.Deny},
		"escaped":                         {`r\m x`, approval.Deny},
		"over two lines":                  {"r\\\nm x", approval.Deny},
		"quoted second word":              {`git "push"`, approval.Deny},
		"from its folder":                 {"/bin/rm x", approval.Deny},
		"with a variable set":             {"A=b rm x", approval.Deny},
		"set variables are not approved":  {"A=b git status", approval.AskUser},
		"env":                             {"env A=b rm x", approval.Deny},
		"xargs":                           {"ls | xargs -n 1 rm", approval.Deny},
		"a shell":                         {`bash -c "ls; rm x"`, approval.Deny},
		"eval":                            {`eval 'rm x'`, approval.Deny},
		"find":                            {`find . -exec rm {} \;`, approval.Deny},
		"a value as a command":            {"$x y", approval.AskUser},
		"a value as a second word":        {"git $x", approval.AskUser},
		"a value as a third word":         {"git log $x", approval.Approve},
		"a pattern as a command":          {"/bin/r? x", approval.AskUser},
		"braces make words":               {"{rm,x}", approval.Deny},
		"escapes as a command":            {`$'\x72m' x`, approval.AskUser},
		"comment":                         {"git status # rm x", approval.Deny},
		"harmless comment":                {"git status # look at it", approval.AskUser},
		"no comment":                      {"git show a#b", approval.Approve},
		"a quote in a comment":            {"echo a # it's\nrm x # it's", approval.Deny},
		"here document":                   {"cat <<E\n'\nE\nrm x\ncat <<E\n'\nE", approval.Deny},
		"open quote":                      {"echo 'a", approval.AskUser},
		"open parenthesis":                {"echo $(ls", approval.AskUser},
		"closed too often":                {"echo a)", approval.AskUser},
		"quotes in a value in quotes":     {`echo "${x:-"'"}"; rm y; echo "'""`, approval.Deny},
		"a zero byte":                     {"r\x00m x", approval.AskUser},
		"array":                           {"files=(a b)", approval.AskUser},
		"array that runs something":       {"files=($(rm x))", approval.Deny},
		"prompt expansion":                {`echo "${v@P}"`, approval.AskUser},
		"escape in a default":             {`echo ${x=\140rm\140}`, approval.AskUser},
		"indirect":                        {"echo ${!v}", approval.AskUser},
		"here string of a command":        {"cat <<<$(ls)", approval.AskUser},
		"zsh substitution":                {"ls =(ls)", approval.AskUser},
		"zsh qualifier":                   {"ls *(e:ls:)", approval.AskUser},
		"function of an allowed name":     {"git () { make -k /; }; git status", approval.AskUser},
		"coprocess of an allowed name":    {"coproc git { make -k /; }", approval.AskUser},
		"no comment in a calculation":     {"((#)) || make -k /\n))", approval.AskUser},
		"function, denied":                {"function x { rm y; }; x", approval.Deny},
		"function of its name, denied":    {"git () { rm -rf /; }; git status", approval.Deny},
		"coprocess, denied":               {"coproc x { rm y; }", approval.Deny},
		"calculation, denied":             {"((#)) || rm -rf /\n))", approval.Deny},
		"case, denied":                    {"case x in x) rm y;; esac", approval.Deny},
		"loop, denied":                    {"for i in a; do rm $i; done", approval.Deny},
		"substitution of what is allowed": {"echo $(ls)", approval.AskUser},
		"calculation in brackets":         {"echo $[1]", approval.AskUser},
		"value with a place":              {"echo $x[1]", approval.AskUser},
		"value in braces":                 {"echo ${x}y \"${x}\"", approval.Approve},
		"only a dollar":                   {`git grep "x$" '$(x)'`, approval.Approve},
		"line before":                     {`echo "!x"`, approval.AskUser},
		"exclamation":                     {`echo "x!"`, approval.Approve},
		"over two lines in quotes":        {"echo \"a\\\nb\"", approval.AskUser},
		"backslash at the end":            {"echo \\", approval.AskUser},
		"unseen letter":                   {"git\u200b status", approval.AskUser},
		"other blank":                     {"git status\u00a0x", approval.AskUser},
		"no text":                         {"git \xff", approval.AskUser},
		"arrow function":                  {`node -e "const f = (a) => a; f(1)"`, approval.Approve},
		"arrow function in single":        {`node -e 'x=(a)=>({b:1})'`, approval.Approve},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := approval.JudgeCommand(test.line, safe, deny); got != test.want {
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
		want        approval.Verdict
	}{
		"no rules":              {"ls", nil, nil, approval.AskUser},
		"everything":            {"make all", []string{"*"}, nil, approval.Approve},
		"everything but":        {"rm x", []string{"*"}, []string{"rm"}, approval.Deny},
		"nothing":               {"ls", nil, []string{"*"}, approval.Deny},
		"a tie is a denial":     {"ls", []string{"ls"}, []string{"ls"}, approval.Deny},
		"both everything":       {"ls", []string{"*"}, []string{"*"}, approval.Deny},
		"longer allowance":      {"git push origin", []string{"git push origin"}, []string{"git push"}, approval.Approve},
		"longer denial":         {"git push origin", []string{"git"}, []string{"git push"}, approval.Deny},
		"empty prefixes":        {"ls", []string{"", " "}, []string{""}, approval.AskUser},
		"array":                 {"files=(a b)", []string{"*"}, nil, approval.AskUser},
		"words may be none":     {"git $x log all", []string{"git"}, []string{"git log all"}, approval.AskUser},
		"eval":                  {"eval 'ls'", []string{"*"}, nil, approval.AskUser},
		"alias":                 {"alias x=rm; x y", []string{"*"}, []string{"rm"}, approval.AskUser},
		"hidden eval":           {"command eval 'r''m x'", []string{"*"}, []string{"rm"}, approval.Deny},
		"hidden shell":          {`sudo bash -c 'r""m x'`, []string{"*"}, []string{"rm"}, approval.Deny},
		"hidden in a shell":     {`env sh -c '$(echo r)m x'`, []string{"*"}, []string{"rm"}, approval.AskUser},
		"shell, nothing denied": {"bash build.sh", []string{"bash"}, nil, approval.Approve},
		"shell, some denied":    {"bash build.sh", []string{"bash"}, []string{"rm"}, approval.AskUser},
		"runner":                {"flock x rm y", []string{"*"}, []string{"rm"}, approval.Deny},
		"runner of no denied":   {"sudo ls -l", []string{"*"}, []string{"rm"}, approval.Approve},
		"place in a list":       {"printf -v 'a[$(make)]' x", []string{"printf"}, nil, approval.AskUser},
		"place in a value":      {`test -v "$x"`, []string{"test"}, nil, approval.AskUser},
		"variable, all allowed": {"A=b make", []string{"*"}, []string{"rm"}, approval.Approve},
		"denied as an argument": {"git rm x", []string{"git"}, []string{"rm"}, approval.Approve},
		"a number":              {"echo 2>/dev/null x", []string{"echo x"}, nil, approval.Approve},
		"all denied, one group": {"(ls -l)", nil, []string{"*"}, approval.Deny},
		"allowed in a group":    {"(git push origin)", []string{"git push origin"}, []string{"git push"}, approval.AskUser},
		"a value, all allowed":  {"$x", []string{"*"}, nil, approval.Approve},
		"a value, one denied":   {"$x", []string{"*"}, []string{"rm"}, approval.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := approval.JudgeCommand(test.line, test.allow, test.deny); got != test.want {
				t.Errorf("%q: got %s, want %s", test.line, got, test.want)
			}
		})
	}
}

// hide wraps a denied command in other syntax so that a shell still runs it.
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
		if got := approval.JudgeCommand(line, allow, []string{"rm"}); got == approval.Approve {
			t.Fatalf("%q: got it approved, want it denied or asked", line)
		}
	})
}

// A line over the length limit is not parsed.
func TestLongCommandsAreAsked(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"a", "a ", "'a' ", "# a ", "`", "(", "$(", "sudo ", "a;"} {
		line := "git " + strings.Repeat(more, 5000)
		if got := approval.JudgeCommand(line, []string{"*"}, []string{"rm"}); got != approval.AskUser {
			t.Errorf("%q …: got %s, want %s", line[:20], got, approval.AskUser)
		}
	}
	if got := approval.JudgeCommand("git "+strings.Repeat("a ", 2000), []string{"git"}, []string{"rm"}); got != approval.Approve {
		t.Errorf("a line of 4,004 bytes: got %s, want %s", got, approval.Approve)
	}
}

// The time must grow linearly with the length; compare the sizes.
func BenchmarkJudgeCommand(b *testing.B) {
	for _, more := range []string{"sudo a ", "# a ", "'a' ", "`", "("} {
		for _, size := range []int{1000, 2000, 4000} {
			b.Run(fmt.Sprintf("%q/%d", more, size), func(b *testing.B) {
				line := strings.Repeat(more, size/len(more))
				b.ReportAllocs()
				for b.Loop() {
					approval.JudgeCommand(line, []string{"sudo"}, []string{"rm"})
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
	judge := func(line string) approval.Verdict { return approval.JudgeCommand(line, []string{"*"}, []string{"rm"}) }
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 4000 {
			return // over the length limit, always asked
		}
		got := judge(line)
		// Whatever precedes it, a denied command is found, or the line is not understood.
		for _, after := range []string{"\nrm x", ";rm x", "&&rm x", "|rm", "&rm", "\n'rm' x", ";A=1 rm", ";>/dev/null rm"} {
			switch v := judge(line + after); {
			case v == approval.Approve:
				t.Errorf("%q with %q behind it: got it approved, want it denied or asked", line, after)
			case got == approval.Approve && v != approval.Deny:
				t.Errorf("%q with %q behind it: got %s, want %s", line, after, v, approval.Deny)
			}
		}
		for _, before := range []string{"rm x; ", "rm x\n", "rm ", "sudo rm "} {
			if v := judge(before + line); v == approval.Approve {
				t.Errorf("%q behind %q: got it approved, want it denied or asked", line, before)
			}
		}
		// A line that is not approved is not approved as part of a longer one either.
		if got != approval.Approve {
			for _, around := range []string{"ls; @", "ls\n@", "@\nls", "@;ls", "@;ls 'x'"} {
				whole := strings.Replace(around, "@", line, 1)
				if v := judge(whole); v == approval.Approve {
					t.Errorf("%q inside of %q: got %v, want it not approved as alone", line, whole, v)
				}
			}
		}
		if v := approval.JudgeCommand(line, nil, nil); v == approval.Deny {
			t.Errorf("%q without rules: got it denied, want it approved or asked", line)
		}
	})
}
