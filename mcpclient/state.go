package mcpclient

import "time"

// State is the state of an instance.
type State string

// The states.
const (
	Stopped  State = "stopped"
	Starting State = "starting"
	Ready    State = "ready"
	Failed   State = "failed"
	Stopping State = "stopping"
)

// event changes the state of an instance.
type event string

const (
	needed  event = "needed"
	started event = "started"
	broke   event = "broke" // it could not be started, or ended by itself
	ended   event = "ended" // the hub ends it
	gone    event = "gone"  // nothing of it is left
)

// transitions has the next state for each state and event; others do not happen.
var transitions = map[State]map[event]State{
	Stopped:  {needed: Starting},
	Starting: {started: Ready, broke: Failed, ended: Stopping},
	Ready:    {broke: Failed, ended: Stopping},
	Stopping: {gone: Stopped},
	Failed:   {needed: Starting, ended: Stopped},
}

// backoff returns the pause after failures in a row.
func backoff(failures int, least, most time.Duration) time.Duration {
	pause := least
	for range failures - 1 {
		if pause *= 2; pause >= most {
			return most
		}
	}
	return min(pause, most)
}
