//go:build linux

package rig

import (
	"errors"
	"fmt"
	"slices"
)

// SelectScenarios returns the scenarios with the given names; the name all selects all of them.
func SelectScenarios[S any](all []S, name func(S) string, names []string) ([]S, error) {
	if len(names) == 0 {
		return nil, errors.New("no scenario given; see --help")
	}
	if slices.Equal(names, []string{"all"}) {
		return all, nil
	}
	var chosen []S
	for _, wanted := range names {
		i := slices.IndexFunc(all, func(s S) bool { return name(s) == wanted })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q; see --help", wanted)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
