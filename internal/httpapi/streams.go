package httpapi

import "sync"

// streams counts the streams of each caller.
type streams struct {
	mu   sync.Mutex
	open map[string]int
}

// enter counts one more, unless there are limit already.
func (s *streams) enter(name string, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]int{}
	}
	if s.open[name] >= limit {
		return false
	}
	s.open[name]++
	return true
}

func (s *streams) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[name]--; s.open[name] == 0 {
		delete(s.open, name)
	}
}
