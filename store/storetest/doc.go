// Package storetest is the conformance suite that each [lastlook.Store] must
// pass, and the proof that the suite is worth passing.
//
// A store's test gives a [Harness] that opens fresh stores:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, harness())
//	}
//
//	func TestMutants(t *testing.T) {
//		storetest.RunMutants(t, harness())
//	}
//
// [Run] runs every [Clause], each a short scenario about one promise, and then
// a randomized run: a state machine that drives two dispatchers, operators and
// a fake world through days of work, and compares each answer with those of a
// model that is written to be obviously right (the one behind
// [github.com/lastlook/lastlook/store/memstore]). A journal of what the fake
// world was told checks the guarantees by itself, without the core's code.
//
// [RunMutants] plants mistakes in the store, one at a time, and demands that
// each is caught.
//
// The randomized run is reproducible: its seed is fixed. These environment
// variables change it:
//
//	LASTLOOK_RAPID_CHECKS  how many runs (default 40; 8 under the race detector)
//	LASTLOOK_RAPID_STEPS   operations per run, on average (default 150)
//	LASTLOOK_RAPID_SEED    the seed; 0 takes a new one each time
//
// The flags of [pgregory.net/rapid] win over them.
package storetest
