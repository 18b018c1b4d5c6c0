package contextpool

// Park is told that the session is handed over in good order. The turns that run
// go on with the next owner, and that they were cut off is not held against them.
func (p *Pool) Park() {
	for _, t := range p.sorted() {
		t.Attempt = max(t.Attempt-1, 0)
		p.keepTurn(t)
	}
}
