package server

import "sync"

// quota counts what recipients are adding at this moment, so that two requests
// at a time do not both get the last place.
type quota struct {
	mu     sync.Mutex
	adding map[string]int
}

func newQuota() *quota { return &quota{adding: map[string]int{}} }

// begin says how many others are being added for the recipient; end must be
// called when this one is added, or not.
func (q *quota) begin(recipient string) (others int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	others = q.adding[recipient]
	q.adding[recipient]++
	return others
}

func (q *quota) end(recipient string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.adding[recipient]--; q.adding[recipient] == 0 {
		delete(q.adding, recipient)
	}
}
