package checkpoints_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooBehaviours are the behaviours that the tests of Roo-Code's checkpoints have, each with the test of the hub that has it: the name
// of a function or of a case, in this package or in session. One that begins with "-" says why the behaviour does not apply.
var rooBehaviours = map[string]string{
	// The service.
	"difference between two commits, or from the base": "a difference between two checkpoints lists what changed",
	"a new file has nothing before":                    "a new file has nothing before, a deleted one nothing after",
	"a deleted file has nothing after":                 "a new file has nothing before, a deleted one nothing after",
	"saves only when something changed":                "saves only when something changed",
	"git status and index of the user stay":            "TestUserRepositoryIsUntouched",
	"no change gives no checkpoint":                    "saves only when something changed",
	"untracked files are saved and restored":           "files that were never added are saved and restored",
	"deletions are saved and restored":                 "deletions are saved and restored",
	"ignored files are never saved":                    "ignored files are neither saved nor touched",
	"LFS patterns are read again":                      "- pointers and contents of LFS are files like others, see TestContentIsExact",
	"a second start on the same folder continues":      "a second store on the same folder continues",
	"a nested repository is an error":                  "- nested repositories are left out and survive, see TestNestedRepositoriesSurvive",
	"a folder without nested repositories works":       "TestNestedRepositoriesSurvive",
	"events for several listeners":                     "TestCheckpoints", // they are events of the session
	"empty commits on request":                         "- a checkpoint without a change is the last one: saves only when something changed",
	"empty commits are distinct and restorable":        "- there are none, as above; the same content twice is restored as one",
	"templates and hooks are not copied":               "TestUserRepositoryIsUntouched",
	"GIT_DIR redirects nothing":                        "TestUserRepositoryIsUntouched",
	"core.worktree with a newline":                     "- the configuration of the repository has nothing that matters",
	"core.worktree is missing":                         "- as above",
	// What is left out.
	"LFS lines are excluded":                    "- as above: files that are too large are left out instead, see TestLargeFilesAndTreesAreRefused",
	"no file of patterns, or an unreadable one": "ignore rules apply from the moment they change",
	// The task.
	"a save waits for the start":                 "- there is no start: a save creates the repository",
	"a save that takes too long":                 "TestSlowGitIsRefused",
	"data survives a deletion":                   "TestKilledOperations",
	"an error switches checkpoints off":          "TestCheckpointsAreSwitchedOffAndOn",
	"restore for a deletion, an edit, a preview": "TestCheckpoints",
	"an unknown row restores nothing":            "TestCheckpoints",
	"an error of a restore is shown":             "an unknown checkpoint is refused",
	"difference to now":                          "compares with now",
	"difference to the next checkpoint":          "a difference between two checkpoints lists what changed",
	"an existing service is used again":          "a second store on the same folder continues",
	"checkpoints that are off save nothing":      "TestCheckpointsAreSwitchedOffAndOn",
	"no workspace means no checkpoints":          "TestCheckpointsOfASessionWithoutFiles",
	"a warning about a slow save":                "TestToolBeginsBeforeItsCheckpointIsSaved",
	"seconds of a setting":                       "- there is no such setting",
	// The restore of a message.
	"a deletion stops the task first":        "TestRestoreWaitsForInterruptedRuns",
	"an edit is submitted after the restore": "TestInterruptedRestoreIsFinished",
	"a deletion saves rows and opens again":  "- rows and files are one commit of the session, see TestInterruptedRestoreIsFinished",
}

// TestEachKnownBehaviourHasATest finds the tests of the table in the sources.
func TestEachKnownBehaviourHasATest(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"*_test.go", "../session/checkpoint*_test.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("sources %s: got %d and error %v, want some", pattern, len(names), err)
		}
		for _, name := range slices.DeleteFunc(names, func(name string) bool { return name == "behaviour_table_test.go" }) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	for behaviour, test := range rooBehaviours {
		declared := `"` + test + `": func(`
		if strings.HasPrefix(test, "Test") {
			declared = "func " + test + "("
		}
		if !strings.HasPrefix(test, "- ") && !strings.Contains(sources.String(), declared) {
			t.Errorf("%s: there is no test %q, want one or a reason", behaviour, test)
		}
	}
}
