// The vulnerability database that `make lint` asks: a version of the Go
// project's own, which is published as a module. It stands apart from go.mod
// because nothing imports it, only its data is read. To take a newer one:
//
//	cd tools && go get -modfile=vulndb.mod golang.org/x/vulndb@latest
module github.com/lastlook/lastlook/tools

go 1.26.0

require golang.org/x/vulndb v0.0.0-20261105234957-e22db6528018
