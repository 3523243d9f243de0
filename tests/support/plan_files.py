"""Files of MSCCL and plans of MSCCL++, as other tools write them."""

__all__ = ["msccl", "op", "pulled", "ring_all_reduce", "step", "two_gpus"]


def step(number, kind, offset, **changes):
    values = {
        "s": number,
        "type": kind,
        "srcbuf": "i",
        "srcoff": offset,
        "dstbuf": "o",
        "dstoff": offset,
        "cnt": 1,
        "depid": -1,
        "deps": -1,
        "hasdep": 0,
    }
    return "<step " + " ".join(f'{key}="{one}"' for key, one in (values | changes).items()) + "/>"


def msccl(gpus, collective, chunks, name="ring", inplace=1):
    """File of GPUs, each a list of thread blocks: (send, recv, steps)."""
    head = f'name="{name}" proto="Simple" nchannels="1" nchunksperloop="{chunks}"'
    lines = [f'<algo {head} ngpus="{len(gpus)}" coll="{collective}" inplace="{inplace}">']
    for rank, blocks in enumerate(gpus):
        lines.append(f'<gpu id="{rank}" i_chunks="{chunks}" o_chunks="{chunks}" s_chunks="0">')
        for number, (send, receive, steps) in enumerate(blocks):
            lines += [
                f'<tb id="{number}" send="{send}" recv="{receive}" chan="0">',
                *steps,
                "</tb>",
            ]
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"])


def ring_all_reduce(ranks):
    """The ring as MSCCL's tools write it: one block that receives, reduces and sends."""
    gpus = []
    for rank in range(ranks):
        kinds = ["s", *["rrs"] * (ranks - 2), "rrcs", *["rcs"] * (ranks - 2), "r"]
        steps = [step(at, kind, (rank + 1 + at) % ranks) for at, kind in enumerate(kinds)]
        gpus.append([((rank - 1) % ranks, (rank + 1) % ranks, steps)])
    return gpus


def two_gpus(ops, buffers):
    """Plan of an all-reduce of two GPUs with four chunks, each with one thread block."""
    memory = {"channel_type": "memory"}
    gpus = []
    for rank in range(2):
        remote = [
            {"rank": 1 - rank, "type": name, "access_channel_types": ["memory"]}
            for name in buffers[rank]
        ]
        block = {
            "id": 0,
            "ops": ops[rank],
            "channels": [{**memory, "channel_ids": [0]}],
            "remote_buffer_refs": [
                {"access_channel_type": "memory", "remote_buffer_ids": [*range(len(remote))]}
            ],
        }
        gpus.append(
            {
                "id": rank,
                "input_chunks": 4,
                "output_chunks": 4,
                "scratch_chunks": 4,
                "channels": [{**memory, "connected_to": [1 - rank]}],
                "remote_buffers": remote,
                "threadblocks": [block],
            }
        )
    return {"name": "pair", "collective": "allreduce", "inplace": True, "gpus": gpus}


def op(name, sources=(), targets=()):
    def buffers(named):
        return [
            {"buffer_id" if isinstance(where, int) else "type": where, "index": at, "size": size}
            for where, at, size in named
        ]

    found = {"name": name, "channel_type": "memory", "channel_ids": [0]}
    return found | ({"src_buff": buffers(sources), "dst_buff": buffers(targets)} if sources else {})


def pulled():
    """Each rank reads the other's part from its scratch, and sums go to the other's input."""
    first = [
        op("copy", [("i", 2, 2)], [("s", 2, 2)]),
        op("signal"),
        op("wait"),
        op("rres", [("i", 0, 1), (0, 0, 1)], [("i", 0, 1), (1, 0, 1)]),
        op("get", [(0, 1, 1)], [("s", 1, 1)]),
        op("res", [("i", 1, 1), ("s", 1, 1)], [("i", 1, 1), (1, 1, 1)]),
        op("signal"),
        op("wait"),
    ]
    second = [
        op("copy", [("i", 0, 2)], [("s", 0, 2)]),
        op("signal"),
        op("wait"),
        {"name": "pipeline", "ops": [op("rre", [("i", 2, 2), (0, 2, 2)], [("i", 2, 2)])]},
        op("pws", [("i", 2, 2)], [(1, 2, 2)]),
        op("wait"),
    ]
    return two_gpus([first, second], ["si", "si"])
