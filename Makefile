# make check is what CI runs.
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build check fmt vet static test race fuzz demo

all: build

build:
	go build -o lorica ./cmd/lorica

check: fmt vet static race fuzz

fmt:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt these:"; gofmt -l $$(git ls-files '*.go'); exit 1; }

vet:
	go vet ./...

static:
	$(STATICCHECK) ./...

test:
	go test ./...

race:
	go test -race ./...

FUZZTIME ?= 3s
fuzz:
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "fuzz $$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

demo: build
	./lorica demo
