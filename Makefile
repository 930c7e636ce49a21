# make check is what CI runs.
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build check fmt vet static test race fuzz demo picture

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

# A number of runs, not a time: a run cut by the clock can fail for that alone.
FUZZTIME ?= 2000x
fuzz:
	@git grep -n '^func Fuzz' -- '*_test.go' | \
	  sed -E 's#^(.*)/[^/]+_test\.go:[0-9]+:func (Fuzz[A-Za-z0-9]*).*#\1 \2#' | \
	  while read -r dir name; do \
	    echo "fuzz ./$$dir $$name"; go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) ./$$dir || exit 1; \
	  done

demo: build
	./lorica demo

# Exported models against ONNX Runtime itself (needs node and the npm registry).
ONNXCHECK ?= $(shell pwd)/.onnxcheck
.PHONY: check-onnx
check-onnx:
	go run ./model/internal/onnxcheck -out $(ONNXCHECK)
	cd $(ONNXCHECK) && npm install --no-save --ignore-scripts onnxruntime-node@1.30.0 && node check.mjs

# The README's picture: the report of two models' counts on 736 CIFAR-10 images.
picture: build
	mkdir -p build
	./lorica report report/testdata/gaussian.jsonl.gz report/testdata/margin-cs.jsonl.gz --cost report/testdata/cat.json -o build/report.html
	chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --hide-scrollbars \
	  --user-data-dir="$$(mktemp -d)" --window-size=1280,1812 --screenshot=docs/report.png "file://$(CURDIR)/build/report.html" 2>build/chromium.log

# The CPU engine beside ONNX Runtime and PyTorch (needs npm, and a Python with
# PyTorch: Debian's python3-torch). More models: make peers MODELS=a.onnx,b.onnx
PEERS ?= $(CURDIR)/build/peers
MODELS ?= $(CURDIR)/model/testdata/pytorch/gaussian.onnx
PYTHON ?= /usr/bin/python3
ORT = $(PEERS)/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1
.PHONY: peers
peers: $(ORT)
	@$(PYTHON) -c 'import torch' || { echo "no PyTorch: apt-get install python3-torch, or set PYTHON"; exit 1; }
	cd bench && go run . -onnxruntime $(ORT) -models $(MODELS) -train resnet20 -python $(PYTHON)

$(ORT):
	mkdir -p $(PEERS) && cd $(PEERS) && npm install --no-save --ignore-scripts onnxruntime-node@1.30.0
