"""Products spread over GPUs as PyTorch runs them: NCCL gathers all of B, then cuBLAS multiplies. No overlap.

    torchrun --nproc-per-node 2 benches/twins/devices.py

Each rank has rows of A and columns of B. Times are the slowest rank's, from a common start until its GPU has ended; a line of
JSON for each case. The same problems as `warpsmith bench devices`.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist

SAMPLES = 15


def median_ms(run, seconds):
    """The median over samples of the slowest rank's time of one run."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    run()
    torch.cuda.synchronize()
    once = torch.tensor([time.perf_counter() - begun], device="cuda")
    dist.all_reduce(once, dist.ReduceOp.MAX)
    runs = max(1, min(200, int(0.008 / once.item())))
    samples = max(5, min(SAMPLES, int(seconds / (once.item() * runs))))
    times = []
    for _ in range(samples):
        dist.barrier()
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(runs):
            run()
        torch.cuda.synchronize()
        took = torch.tensor([(time.perf_counter() - begun) / runs], device="cuda")
        dist.all_reduce(took, dist.ReduceOp.MAX)
        times.append(took.item() * 1e3)
    return sorted(times)[len(times) // 2]


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    edges = [int(edge) for edge in sys.argv[1:]] or [16384, 8192]

    def report(**row):
        if rank == 0:
            print(json.dumps(row), flush=True)

    report(torch=torch.__version__, nccl=".".join(map(str, torch.cuda.nccl.version())), gpus=size,
           gpu=torch.cuda.get_device_name())
    for name, dtype in [("bf16", torch.bfloat16), ("f32", torch.float32)]:
        problems = [("weak", edges[0] * size, edges[0])] + [("strong", edge, edge) for edge in edges]
        for scaling, m, n in problems:
            k = n
            a = torch.rand(m // size, k, device="cuda").mul_(2).sub_(1).to(dtype)
            b = torch.rand(n // size, k, device="cuda").mul_(2).sub_(1).to(dtype)
            whole = torch.empty(n, k, device="cuda", dtype=dtype)
            c = torch.empty(m // size, n, device="cuda", dtype=dtype)

            def gather():
                dist.all_gather_into_tensor(whole, b)

            def multiply():
                torch.mm(a, whole.t(), out=c)

            def both():
                gather()
                multiply()

            seconds = 4 if dtype == torch.float32 else 2
            report(case=f"gathered {name}, {scaling}", size=f"{m}x{n}x{k}", both_ms=median_ms(both, seconds),
                   gather_ms=median_ms(gather, 1), multiply_ms=median_ms(multiply, seconds))
            del a, b, whole, c
    for edge in edges:
        part = edge * edge // size // size
        send, receive = (torch.empty(part * size, device="cuda") for _ in range(2))
        ms = median_ms(lambda: dist.all_to_all_single(receive, send), 1)
        report(case="all-to-all f32", size=f"{edge}x{edge}", ms=ms, moved_bytes=part * 4 * size * (size - 1))
    dist.destroy_process_group()


main()
