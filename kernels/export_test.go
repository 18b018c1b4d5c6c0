package kernels

// WriteRecord writes the record of a server, with the start time of the process of another id.
func WriteRecord(dir string, pid, startOf, port int, root string) error {
	start, _ := processStart(startOf) // a test that uses no process wants none
	return record{PID: pid, Start: start, Port: port, Token: "t", Root: root}.write(dir)
}
